import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { ColumnStats } from "../../lib/verify/column_stats.ts";
import { contentFaults, contentOddities, contentReport } from "../../lib/verify/content_report.ts";
import { deepScan } from "../../lib/verify/deep_scan.ts";
import type { ScanJob } from "../../lib/verify/scan_job.ts";
import { scanJobs } from "../../lib/verify/scan_jobs.ts";
import { scanRows } from "../../lib/verify/scan_rows.ts";
import { ScanState } from "../../lib/verify/scan_state.ts";
import { survey } from "../../lib/verify/survey.ts";
import { inFolder } from "../bytes/in_folder.ts";
import {
  change,
  SMALL_CONFIG,
  type SmallTensor,
  smallTensors,
  writeCheckpoint,
} from "../checkpoint/small_checkpoint.ts";

const EMBED = "layers.1.engram.embed.weight";
const SCALE = "layers.1.engram.embed.scale";

/** Codes and scales that hold nothing odd. */
function plainTensors(): SmallTensor[] {
  return smallTensors().map((tensor) => {
    const size = tensor.shape.reduce((a, b) => a * b, tensor.dtype === "BF16" ? 2 : 1);
    const byte = tensor.name.endsWith("scale") ? () => 120 : (i: number) => 1 + i * 7 % 90;
    return { ...tensor, data: Uint8Array.from({ length: size }, (_, i) => byte(i)) };
  });
}

function poke(tensors: SmallTensor[], name: string, bytes: Record<number, number>): SmallTensor[] {
  return change(tensors, name, (tensor) => {
    const data = tensor.data!.slice();
    for (const [at, byte] of Object.entries(bytes)) data[Number(at)] = byte;
    return { ...tensor, data };
  });
}

/** Scans a checkpoint of `tensors`. */
async function scan<T>(
  tensors: SmallTensor[],
  look: (jobs: ScanJob[], state: ScanState, layout: { nHeads: number; columns: number }) => T,
): Promise<T> {
  let result: T | undefined;
  await inFolder(async (folder) => {
    const place = writeCheckpoint(folder, { files: { "model.safetensors": tensors } });
    const found = await survey(place);
    try {
      const jobs = scanJobs(found.layers, found.layout);
      const sources = new Map(
        [...found.files.files.values()].map(({ source }) => [source.name, source]),
      );
      const state = new ScanState(jobs, []);
      await deepScan(jobs, sources, state);
      result = look(jobs, state, found.layout!);
    } finally {
      found.close();
    }
  });
  return result as T;
}

const messages = (tensors: SmallTensor[]) =>
  scan(tensors, (jobs, state, layout) => {
    const reports = jobs.map((job, i) => contentReport(job, state.stats[i], layout));
    return {
      faults: reports.flatMap(contentFaults).map(({ message }) => message),
      odd: reports.flatMap(contentOddities).map(({ message }) => message),
    };
  });

Deno.test("a plain checkpoint has no findings, and every row and byte is counted", async () => {
  assert.deepEqual(await messages(plainTensors()), { faults: [], odd: [] });
  await scan(plainTensors(), (jobs, state) => {
    assert.deepEqual(jobs.map(({ part }) => part).slice(0, 5), [
      "embed",
      "wkv",
      "wkv_scale",
      "q_weight",
      "k_weight",
    ]);
    const columns = [...state.stats[0]].map(([column, { rows }]) => [column, rows]);
    assert.deepEqual(columns, [[0, 5], [1, 7], [2, 11], [3, 13]]);
    const values = [...state.stats[0].values()].flatMap((stats) => stats.values);
    assert.equal(values.reduce((a, b) => a + b), 36 * 32);
  });
});

Deno.test("findings name tensor, column and row", async () => {
  // Row 13 is the second row of column 2 (5 + 7 + 1), a 3-gram's head 0.
  const nan = await messages(poke(plainTensors(), EMBED, { [13 * 32 + 31]: 0xff }));
  assert.deepEqual(nan.faults, [
    `tensor "${EMBED}", 3-gram head 0: 1 row holds NaN codes (0x7f or 0xff) (row 13)`,
  ]);
  const high = await messages(poke(plainTensors(), SCALE, { 35: 255, 0: 255 }));
  assert.match(high.faults[0], /2-gram head 0: 1 scale byte is 255.*\(row 0\)/);
  assert.match(high.faults[1], /3-gram head 1: 1 scale byte is 255.*\(row 35\)/);
  const low = await messages(poke(plainTensors(), SCALE, { 4: 0, 5: 0 }));
  assert.match(low.faults[0], /2-gram head 0: 1 scale byte is 0 over values.*\(row 4\)/);
  assert.match(low.faults[1], /2-gram head 1: 1 scale byte is 0 over values.*\(row 5\)/);
});

Deno.test("rows of zeros may have any scale; rows of one value are odd", async () => {
  const row = (value: number) =>
    Object.fromEntries(Array.from({ length: 32 }, (_, i) => [7 * 32 + i, value]));
  const zeros = poke(poke(plainTensors(), EMBED, row(0x80)), SCALE, { 7: 0 });
  assert.deepEqual(await messages(zeros), {
    faults: [],
    odd: [`tensor "${EMBED}", 2-gram head 1: 1 row is all zero (row 7)`],
  });
  assert.deepEqual((await messages(poke(plainTensors(), EMBED, row(5)))).odd, [
    `tensor "${EMBED}", 2-gram head 1: 1 row is one value throughout (row 7)`,
  ]);
});

Deno.test("the projection and gate are looked at too", async () => {
  const wkv = await messages(poke(plainTensors(), "layers.3.engram.wkv.weight", { 128: 0x7f }));
  assert.match(wkv.faults[0], /layers\.3\.engram\.wkv\.weight": 1 row holds NaN codes.*\(row 1\)/);
  const scale = await messages(poke(plainTensors(), "layers.3.engram.wkv.scale", { 11: 255 }));
  assert.match(scale.faults[0], /wkv\.scale": 1 scale byte is 255.*\(row 2\)/);
  const q = await messages(poke(plainTensors(), "layers.3.engram.q_weight", { 0: 0x80, 1: 0x7f }));
  assert.match(q.faults[0], /q_weight": 1 row holds NaN or infinite values \(row 0\)/);
});

Deno.test("packed records and int8 rows", async () => {
  const packed = change(plainTensors(), SCALE, () => null);
  const record = new Uint8Array(36 * 33).map((_, i) => i % 33 === 32 ? 120 : 1 + i % 50);
  record[20 * 33 + 32] = 255;
  record[21 * 33 + 3] = 0x7f;
  const found = await messages(
    change(packed, EMBED, (tensor) => ({ ...tensor, dtype: "U8", shape: [36, 33], data: record })),
  );
  assert.equal(found.faults.length, 2);
  assert.match(found.faults[0], /NaN codes.*\(row 21\)/);
  assert.match(found.faults[1], /255.*\(row 20\)/);

  const floats = new Float32Array(36).fill(0.5);
  floats[3] = NaN;
  floats[4] = 0;
  const int8 = change(plainTensors(), SCALE, (tensor) => ({
    ...tensor,
    dtype: "F32",
    data: new Uint8Array(floats.buffer),
  }));
  const codes = await messages(change(int8, EMBED, (tensor) => ({ ...tensor, dtype: "I8" })));
  assert.match(codes.faults[0], /1 scale is NaN or infinite \(row 3\)/);
  assert.match(codes.faults[1], /1 scale is 0 over values that are not \(row 4\)/);
});

Deno.test("a column unlike its neighbours is named, and only that one", async () => {
  // Ten heads of one n-gram; the seventh was shifted by a byte of another table.
  const columns = new Map<number, ColumnStats>();
  const job = { part: "embed", kind: "fp8", tensor: "t", columnStarts: [] as number[] };
  await scan(plainTensors(), (_, state) => {
    const model = state.stats[0].get(3)!;
    for (let column = 0; column < 10; column++) {
      const values = Array.from(
        { length: 256 },
        (_, code) => column === 7 ? code : 100 + (code * 31 + column) % 7,
      );
      columns.set(column, { ...structuredClone(model), values });
      job.columnStarts.push(column * 10);
    }
  });
  const report = contentReport(job as unknown as ScanJob, columns, { nHeads: 10, columns: 10 });
  assert.deepEqual(report.columns.filter(({ unlike }) => unlike).map(({ column }) => column), [7]);
});

Deno.test("whatever the pieces and their order, the findings are the same", async () => {
  await inFolder(async (folder) => {
    const tensors = poke(plainTensors(), EMBED, { 5: 0x7f, 400: 0x7f, 1151: 0xff, 700: 0 });
    writeCheckpoint(folder, { files: { "model.safetensors": tensors } });
    const found = await survey(folder);
    const [file] = found.files.files.values();
    try {
      const [job] = scanJobs(found.layers, found.layout);
      const whole = new ScanState([job], []);
      whole.add(0, 0, 36, await scanRows(job, 0, 36, () => file.source));
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.integer({ min: 1, max: 35 }), { maxLength: 6 }),
          fc.infiniteStream(fc.nat()),
          async (cuts, order) => {
            const edges = [0, ...cuts.sort((a, b) => a - b), 36];
            const pieces = edges.slice(1).map((end, i) => [edges[i], end, order.next().value]);
            const state = new ScanState([job], []);
            for (const [begin, end] of pieces.sort((a, b) => a[2] - b[2])) {
              state.add(0, begin, end, await scanRows(job, begin, end, () => file.source));
            }
            const sorted = (s: ScanState) => [...s.stats[0]].sort(([a], [b]) => a - b);
            assert.deepEqual(sorted(state), sorted(whole));
          },
        ),
        { numRuns: 50 },
      );
    } finally {
      found.close();
    }
  });
});

Deno.test("a state is taken up where it was left, and only for the same files", async () => {
  await scan(plainTensors(), (jobs, state) => {
    const files = ["a:1"];
    const half = new ScanState(jobs, files);
    half.add(0, 0, 36, state.stats[0]);
    const saved = half.save();
    const again = new ScanState(jobs, files);
    assert.equal(again.load(saved, "state"), true);
    assert.equal(again.has(0, 0, 36), true);
    assert.equal(again.has(1, 0, 96), false);
    assert.deepEqual(again.stats, half.stats);
    const other = new ScanState(jobs, ["a:2"]);
    assert.equal(other.load(saved, "state"), false);
    assert.equal(other.has(0, 0, 36), false);
    for (const text of ["", "{}", "[1]", '{"engram_scan":1}', "null", '"x"']) {
      assert.throws(() => again.load(text, "state"), /it is no state of a deep verification/);
    }
  });
});

Deno.test("workers find what one thread finds", async () => {
  const rows = 70_000;
  const config = {
    ...SMALL_CONFIG,
    engram_layer_ids: [1],
    engram_num_embeddings: null,
    engram_head_dim: 512,
    engram_vocab_size: 17_000,
  };
  await inFolder(async (folder) => {
    const data = new Uint8Array(rows * 512).fill(3);
    data[60_000 * 512 + 9] = 0x7f;
    const of = (name: string, dtype: string, shape: number[], data?: Uint8Array) => ({
      name: `layers.1.engram.${name}`,
      dtype,
      shape,
      ...(data ? { data } : {}),
    });
    const tensors: SmallTensor[] = [
      of("embed.weight", "F8_E4M3", [rows, 512], data),
      of("embed.scale", "U8", [rows, 16], new Uint8Array(rows * 16).fill(127)),
      of("wkv.weight", "BF16", [96, 2048]),
      of("q_weight", "BF16", [2, 32]),
      of("k_weight", "BF16", [2, 32]),
    ];
    writeCheckpoint(folder, { files: { "model.safetensors": tensors }, config });
    const found = await survey(join(folder));
    try {
      const jobs = scanJobs(found.layers, found.layout);
      const sources = new Map(
        [...found.files.files.values()].map(({ source }) => [source.name, source]),
      );
      const [one, two] = [new ScanState(jobs, []), new ScanState(jobs, [])];
      await deepScan(jobs, sources, one, { workers: 1 });
      await deepScan(jobs, sources, two, { workers: 2, fewBytes: 0 });
      assert.deepEqual(two.stats, one.stats);
      assert.deepEqual([...one.stats[0].values()].flatMap(({ badRows }) => badRows.rows), [60_000]);
      const path = join(folder, "model.safetensors");
      Deno.copyFileSync(path, `${path}.new`);
      Deno.renameSync(`${path}.new`, path);
      await assert.rejects(
        deepScan(jobs, sources, new ScanState(jobs, []), { workers: 2, fewBytes: 0 }),
        /another file has its name/,
      );
      const stop = new AbortController();
      stop.abort();
      for (const workers of [1, 2]) {
        const scan = deepScan(jobs, sources, new ScanState(jobs, []), {
          workers,
          fewBytes: 0,
          signal: stop.signal,
        });
        await assert.rejects(scan, { name: "EngramError", kind: "interrupted" });
      }
    } finally {
      found.close();
    }
  });
});

Deno.test("a scan that is stopped and taken up again reads the rest only, and finds the same", async () => {
  await inFolder(async (folder) => {
    const tensors = poke(plainTensors(), EMBED, { 40: 0x7f });
    const found = await survey(
      writeCheckpoint(folder, { files: { "model.safetensors": tensors } }),
    );
    try {
      const jobs = scanJobs(found.layers, found.layout);
      const sources = new Map(
        [...found.files.files.values()].map(({ source }) => [source.name, source]),
      );
      const whole = new ScanState(jobs, []);
      let all = 0;
      await deepScan(jobs, sources, whole, { onBytes: (bytes) => all += bytes });
      const stop = new AbortController();
      const first = new ScanState(jobs, []);
      let pieces = 0;
      let read = 0;
      const stopped = deepScan(jobs, sources, first, {
        signal: stop.signal,
        onBytes: (bytes) => read += bytes,
        onState: () => ++pieces === 3 && stop.abort(),
      });
      await assert.rejects(stopped, { name: "EngramError", kind: "interrupted" });
      const second = new ScanState(jobs, []);
      assert.equal(second.load(first.save(), "state"), true);
      let fresh = 0;
      let known = 0;
      await deepScan(jobs, sources, second, {
        onBytes: (bytes, isFresh) => isFresh ? fresh += bytes : known += bytes,
      });
      assert.equal(known, read);
      assert.equal(fresh + known, all);
      assert.ok(fresh > 0 && known > 0);
      assert.deepEqual(second.stats, whole.stats);
    } finally {
      found.close();
    }
  });
});
