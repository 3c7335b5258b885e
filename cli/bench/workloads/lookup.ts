import { NgramHasher } from "../../../lib/hash/ngram_hasher.ts";
import { decodeRecords } from "../../../lib/table/decode_rows.ts";
import type { GpuDevice } from "../../../lib/gpu/gpu_device.ts";
import { ResidentStore } from "../../../lib/gpu/resident_store.ts";
import type { RowStore } from "../../../lib/table/row_store.ts";
import { rankSpans } from "../../../lib/layout/rank_spans.ts";
import { benchIds } from "../bench_ids.ts";
import { type BenchTable, benchTable } from "../bench_table.ts";
import { dropPageCache } from "../drop_page_cache.ts";
import { oneRequest } from "../one_request.ts";
import { distinct } from "../id_streams.ts";
import { numpyRows } from "../numpy_baseline.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";
import { type BenchBackend, openBackend } from "../backends.ts";
import { timeDispatches } from "../gpu/time_dispatches.ts";
import { type BenchDevice, openBenchDevice } from "../open_device.ts";
import { memoryCopy } from "./read.ts";

/** What is measured unless told otherwise. */
const BACKENDS: readonly BenchBackend[] = ["memory", "file"];

/** Sets of rows that the GPU's clock times in turn, so that its cache does not hold them all. */
const SETS = 3;

/**
 * Rows of one layer by hashed ids to bf16 in memory, from each backend, warm and cold: of all columns,
 * or of those that the first of `--tp` ranks serves.
 */
export async function* lookupWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  yield await memoryCopy(request);
  using table = await benchTable(request);
  const [layer] = table.layout.layers;
  using device = await openBenchDevice(request);
  for (const tokens of request.tokens) {
    for (const kind of request.ids) {
      const { ids, warnings } = await benchIds(
        request,
        kind,
        tokens,
        table.layout.compressedVocabSize,
      );
      const rows = new NgramHasher(table.layout, 0).hash(oneRequest(ids));
      for (const tp of request.tp) {
        const own = columnsOf(rows, table.layout.columns, rankSpans(layer, { tp })[0].columns);
        for (const cache of request.cache) {
          yield* cases(request, device, table, own, { tokens, ids: kind, tp, cache }, warnings);
        }
      }
    }
  }
}

/** Some columns of rows [T, columns]. */
function columnsOf(rows: Int32Array, columns: number, own: readonly number[]): Int32Array {
  const tokens = rows.length / columns;
  const out = new Int32Array(tokens * own.length);
  for (let token = 0, at = 0; token < tokens; token++) {
    for (const column of own) out[at++] = rows[token * columns + column];
  }
  return out;
}

async function* cases(
  request: BenchRequest,
  { opened, timed }: BenchDevice,
  table: BenchTable,
  ids: Int32Array,
  parameters: { tokens: number; ids: string; tp: number; cache: "warm" | "cold" },
  warnings: string[],
): AsyncIterable<BenchResult> {
  const cold = parameters.cache === "cold";
  if (cold && !table.paths.every(dropPageCache)) {
    return request.note(
      "lookup, cold: left out, the page cache cannot be dropped here (needs --allow-ffi, Linux)",
    );
  }
  const { encoding } = table.table;
  const work = {
    tokens: parameters.tokens,
    rows: ids.length,
    distinctRows: distinct(ids),
    bytes: ids.length * (encoding.recordBytes + 4 + encoding.headDim * 2),
  };
  const counted = (written: number) =>
    `${encoding.recordBytes} bytes read, 4 of id and ${written} written a row, asked for, one layer`;
  const shared = {
    name: "lookup",
    work,
    parameters: { ...parameters, of: "memory" },
    counted: counted(encoding.headDim * 2),
    gpuSamples: null,
    warnings,
  };
  const stored = {
    ...shared,
    work: { ...work, bytes: ids.length * (2 * encoding.recordBytes + 4) },
    counted: counted(encoding.recordBytes),
    role: "case" as const,
  };
  const records = new Uint8Array(ids.length * encoding.recordBytes);
  const out = new Uint16Array(ids.length * encoding.headDim);
  const time = async (paths: readonly string[], read: () => Promise<void>) => {
    if (cold) paths.forEach(dropPageCache);
    const start = performance.now();
    await read();
    return (performance.now() - start) / 1000;
  };
  const decoded = async (store: RowStore) => {
    if (store.decodeRows) return await store.decodeRows(ids, out);
    await store.readRecords(ids, records);
    decodeRecords(encoding, records, out);
  };
  const excluded = `hashing${cold ? ", dropping the page cache" : ""}`;
  for (const backend of request.backends ?? BACKENDS) {
    using held = await openBackend(backend, table.table, request, opened);
    if (!held) continue;
    const { store, paths, label } = held;
    // Cached pages say nothing about rows that are not read from a file.
    if (cold && paths.length === 0) continue;
    if (cold && backend === "mapped") {
      request.note("memory map, cold: left out, pages that are mapped stay in the page cache");
      continue;
    }
    const result: BenchResult = {
      ...shared,
      variant: label,
      role: "case",
      excluded,
      samples: await sample(() => time(paths, () => decoded(store)), request.sampling),
    };
    yield result;
    if (!(store instanceof ResidentStore)) {
      yield {
        ...stored,
        variant: `${label}, not decoded`,
        excluded: `${excluded}, decoding`,
        samples: await sample(
          () => time(paths, () => store.readRecords(ids, records)),
          request.sampling,
        ),
      };
    }
    if (!timed || !(store instanceof ResidentStore)) continue;
    yield {
      ...result,
      variant: `${label}, kernels by its clock`,
      parameters: { ...parameters, of: "gpu", adapter: opened.kernels.description },
      excluded: "hashing, ids up and rows back",
      samples: [],
      gpuSamples: await gpuTimes(timed, store, ids),
    };
  }
  using plain = await openBackend("file", table.table, request, opened);
  yield {
    ...shared,
    variant: "file, one by one",
    role: "baseline",
    excluded,
    samples: await sample(
      () =>
        time(table.paths, async () => {
          await oneByOne(plain!.store, ids, records);
          decodeRecords(encoding, records, out);
        }),
      request.sampling,
    ),
  };
  if (!request.python || cold) return;
  const what = "numpy memmap indexing, codes and scales";
  const gathered = await numpyRows(table, ids, request, false);
  if (!gathered) return;
  yield {
    ...stored,
    variant: `${what}, not decoded`,
    excluded: `${excluded}, decoding`,
    samples: gathered.samples,
  };
  const rows = encoding.kind === "fp8" ? await numpyRows(table, ids, request, true) : null;
  if (!rows) return;
  decodeRecords(encoding, records, out);
  const differs = rows.rows.some((bits, i) => bits !== out[i]);
  yield {
    ...shared,
    variant: `${what}, decoded by table`,
    role: "case",
    excluded,
    samples: rows.samples,
    warnings: differs ? [...warnings, "numpy gave other rows"] : warnings,
  };
}

/** Seconds of the lookup alone, by the GPU's clock: of these rows and of others as far apart. */
async function gpuTimes(gpu: GpuDevice, store: ResidentStore, ids: Int32Array): Promise<number[]> {
  const { rows, encoding: { headDim } } = store;
  using lease = gpu.lease();
  const local = await lease.upload(Uint32Array.of(0), "columns");
  const sets = [];
  for (let i = 0; i < SETS; i++) {
    const shift = Math.floor(i * rows / SETS);
    sets.push(
      await store.lookup({
        ids: await lease.upload(ids.map((id) => (id + shift) % rows), "ids"),
        columns: 1,
        local,
        localCount: 1,
        all: true,
        tokens: ids.length,
        out: await lease.buffer(2 * ids.length * headDim, "rows"),
      }),
    );
  }
  const samples = await timeDispatches(gpu, sets, { quick: gpu.software });
  return samples.toSorted((a, b) => a - b);
}

/** As a naive port reads: every row of every token by itself, in the order asked for. */
async function oneByOne(store: RowStore, ids: Int32Array, records: Uint8Array): Promise<void> {
  const { recordBytes } = store.encoding;
  for (let i = 0; i < ids.length; i++) {
    await store.readRecords(
      ids.subarray(i, i + 1),
      records.subarray(i * recordBytes, (i + 1) * recordBytes),
    );
  }
}
