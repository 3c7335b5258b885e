import assert from "node:assert/strict";
import fc from "fast-check";
import type { ByteSource } from "../../lib/bytes/byte_source.ts";
import { openFile } from "../../lib/bytes/file_source.ts";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { mappedStore } from "../../lib/table/mapped_store.ts";
import { loadTable, memoryStore } from "../../lib/table/memory_store.ts";
import { partStore } from "../../lib/table/part_store.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { spreadStore } from "../../lib/table/spread_store.ts";
import type { RowStore } from "../../lib/table/row_store.ts";
import type { Split } from "../../lib/gpu/gpu_table.ts";
import { requestDevice } from "../../lib/gpu/request_device.ts";
import { ResidentStore } from "../../lib/gpu/resident_store.ts";
import { hasGpu } from "../gpu/open_gpu.ts";
import { storedLayer } from "./stored_layer.ts";
import type { Tensor } from "../../lib/safetensors/tensor.ts";

const ROWS = 1000;
const encoding = rowEncoding("fp8", 64);
const { codeBytes, scaleBytes, recordBytes } = encoding;

/** Byte b of row r's record: every row is told apart from every other. */
function recordByte(row: number, byte: number): number {
  return (row * 31 + (row >> 8) * 17 + byte * 7) & 255;
}

const codes = new Uint8Array(ROWS * codeBytes).map((_, i) =>
  recordByte(Math.floor(i / codeBytes), i % codeBytes)
);
const scales = new Uint8Array(ROWS * scaleBytes).map((_, i) =>
  recordByte(Math.floor(i / scaleBytes), codeBytes + i % scaleBytes)
);
const records = new Uint8Array(ROWS * recordBytes).map((_, i) =>
  recordByte(Math.floor(i / recordBytes), i % recordBytes)
);

function wanted(ids: ArrayLike<number>): Uint8Array {
  return new Uint8Array(ids.length * recordBytes).map((_, i) =>
    recordByte(ids[Math.floor(i / recordBytes)], i % recordBytes)
  );
}

/** A source that must be awaited, and remembers what was read of it. */
class Counting implements ByteSource {
  readonly name = "counting";
  readonly reads: [offset: number, length: number][] = [];
  /** Reads under way at this moment, and the most there were. */
  now = 0;
  most = 0;
  readonly #inner;

  constructor(readonly bytes: Uint8Array, readonly failAt = -1) {
    this.#inner = memorySource(bytes);
  }

  get size(): number {
    return this.bytes.length;
  }

  async read(into: Uint8Array, offset: number): Promise<void> {
    this.reads.push([offset, into.length]);
    this.most = Math.max(this.most, ++this.now);
    await new Promise((done) => queueMicrotask(() => done(undefined)));
    this.now--;
    if (offset <= this.failAt && this.failAt < offset + into.length) throw new Error("broken");
    await this.#inner.read(into, offset);
  }

  checkUnchanged(): void {}
  close(): void {}
}

/** Counts synchronous reads as well. */
class CountingSync extends Counting {
  readSync(into: Uint8Array, offset: number): void {
    this.reads.push([offset, into.length]);
    into.set(this.bytes.subarray(offset, offset + into.length));
  }
}

function twoParts(first: ByteSource, second: ByteSource, offset = 0): RowStore {
  return partStore({
    encoding,
    rows: ROWS,
    place: "test",
    parts: [
      { source: first, offset, bytes: codeBytes },
      { source: second, offset: 0, bytes: scaleBytes },
    ],
  });
}

function tensorOf(source: ByteSource, offset: number, shape: number[]): Tensor {
  const byteLength = shape[0] * shape[1];
  return { name: "embed.weight", dtype: "U8", shape, offset, byteLength, source };
}

function layerOf(weight: Tensor, scale: Tensor | null) {
  return { layerId: 1, encoding, rows: ROWS, packed: scale === null, embed: { weight, scale } };
}

const folder = Deno.makeTempDirSync();
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
Deno.writeFileSync(`${folder}/two`, new Uint8Array([9, 9, 9, ...codes, 7, ...scales]));
Deno.writeFileSync(`${folder}/packed`, new Uint8Array([5, ...records]));

interface Opened {
  readonly store: RowStore;
  close(): void;
}

const STORES: Record<string, () => Opened | Promise<Opened>> = {
  "host memory": () => ({ store: memoryStore({ encoding, codes, scales }), close() {} }),
  "packed records in host memory": () => ({
    store: memoryStore({ encoding, codes: records }),
    close() {},
  }),
  "a file": () => {
    const source = openFile(`${folder}/two`);
    const weight = tensorOf(source, 3, [ROWS, codeBytes]);
    const scale = tensorOf(source, 4 + codes.length, [ROWS, scaleBytes]);
    const store = fileStore(layerOf(weight, scale));
    return { store, close: () => source.close() };
  },
  "host memory, loaded from a file": async () => {
    const source = openFile(`${folder}/two`);
    const weight = tensorOf(source, 3, [ROWS, codeBytes]);
    const scale = tensorOf(source, 4 + codes.length, [ROWS, scaleBytes]);
    let loaded = 0;
    const store = await loadTable(layerOf(weight, scale), { loaded: (bytes) => loaded += bytes });
    assert.equal(loaded, records.length);
    // Nothing more is read of it.
    source.close();
    return { store, close() {} };
  },
  "a packed file": () => {
    const source = openFile(`${folder}/packed`);
    const weight = tensorOf(source, 1, [ROWS, recordBytes]);
    const store = fileStore(layerOf(weight, null));
    return { store, close: () => source.close() };
  },
  "a memory map": () => {
    const source = openFile(`${folder}/two`);
    const weight = tensorOf(source, 3, [ROWS, codeBytes]);
    const scale = tensorOf(source, 4 + codes.length, [ROWS, scaleBytes]);
    return { store: mappedStore(layerOf(weight, scale)), close: () => source.close() };
  },
  "a file read by three threads": () => {
    const source = openFile(`${folder}/two`);
    const weight = tensorOf(source, 3, [ROWS, codeBytes]);
    const scale = tensorOf(source, 4 + codes.length, [ROWS, scaleBytes]);
    const store = spreadStore(layerOf(weight, scale), { workers: 3, least: 1 });
    return { store, close: () => source.close() };
  },
  "sources that must be awaited": () => ({
    store: twoParts(new Counting(codes), new Counting(scales)),
    close() {},
  }),
  ...(await hasGpu()) && {
    "the GPU": () => onGpu(),
    "the GPU, in many buffers": () => onGpu({ chunkRows: 70, chunksPerDispatch: 3 }),
  },
};

async function onGpu(split?: Split): Promise<Opened> {
  const gpu = await requestDevice();
  const layer = storedLayer(encoding, codes, scales);
  const store = await ResidentStore.load(gpu, layer, split && { split });
  return { store, close: () => gpu.close() };
}

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`${name}: any ids in any order give their records`, async () => {
    const { store, close } = await open();
    try {
      assert.equal(store.rows, ROWS);
      const id = fc.oneof(fc.nat(ROWS - 1), fc.nat(8), fc.constant(ROWS - 1));
      await fc.assert(
        fc.asyncProperty(fc.array(id, { maxLength: 60 }), fc.boolean(), async (ids, wide) => {
          const out = new Uint8Array(ids.length * recordBytes);
          await store.readRecords(wide ? Float64Array.from(ids) : Int32Array.from(ids), out);
          assert.deepEqual(out, wanted(ids));
        }),
        { numRuns: 60 },
      );
      const every = Int32Array.from({ length: ROWS }, (_, i) => ROWS - 1 - i);
      const out = new Uint8Array(ROWS * recordBytes);
      await store.readRecords(every, out);
      assert.deepEqual(out, wanted(every));
    } finally {
      store.close();
      close();
    }
  });

  Deno.test(`${name}: bad ids are refused with their index, and nothing else is`, async () => {
    const { store, close } = await open();
    try {
      for (const bad of [-1, ROWS, 2 ** 31, 2 ** 53, 1.5, NaN, Infinity, -Infinity]) {
        await assert.rejects(
          store.readRecords(Float64Array.of(0, bad), new Uint8Array(2 * recordBytes)),
          (error: Error) => {
            assert.equal(error.name, "EngramError");
            assert.match(error.message, /row number 1 is .*wanted an integer from 0 to 999/);
            return true;
          },
        );
      }
      await assert.rejects(
        store.readRecords(Int32Array.of(1), new Uint8Array(recordBytes - 1)),
        /found room for 65 bytes, wanted 66/,
      );
      await store.readRecords(Int32Array.of(), new Uint8Array(0));
    } finally {
      store.close();
      close();
    }
  });
}

for (const make of [Counting, CountingSync]) {
  Deno.test(`only the rows asked for are read, once, in order, neighbours together (${make.name})`, async () => {
    const [first, second] = [new make(codes), new make(scales)];
    const ids = [500, 7, 9, 8, 500, 7, 999, 0, 500, 11];
    const out = new Uint8Array(ids.length * recordBytes);
    await twoParts(first, second).readRecords(Int32Array.from(ids), out);
    assert.deepEqual(out, wanted(ids));
    const runs = [[0, 1], [7, 3], [11, 1], [500, 1], [999, 1]];
    assert.deepEqual(first.reads, runs.map(([row, n]) => [row * codeBytes, n * codeBytes]));
    assert.deepEqual(second.reads, runs.map(([row, n]) => [row * scaleBytes, n * scaleBytes]));
  });
}

Deno.test("awaited reads overlap, but not without bound; a failed one fails the whole", async () => {
  const ids = Int32Array.from({ length: 300 }, (_, i) => 3 * i);
  const out = new Uint8Array(ids.length * recordBytes);
  const source = new Counting(codes);
  await twoParts(source, new Counting(scales)).readRecords(ids, out);
  assert.deepEqual(out, wanted(ids));
  assert.ok(source.most > 1 && source.most <= 64, `${source.most} at once`);
  const broken = twoParts(new Counting(codes, 30 * codeBytes), new Counting(scales));
  await assert.rejects(broken.readRecords(ids, out), /broken/);
});

Deno.test("a long run of neighbours is read in bounded pieces", async () => {
  const rows = 60_000;
  const wide = rowEncoding("bf16", 64);
  const bytes = new Uint8Array(rows * wide.recordBytes).map((_, i) => (i >> 7) * 13 + i);
  for (const make of [Counting, CountingSync]) {
    const source = new make(bytes);
    const parts = [{ source, offset: 0, bytes: wide.recordBytes }];
    const store = partStore({ encoding: wide, rows, place: "test", parts });
    const out = new Uint8Array(bytes.length);
    await store.readRecords(Int32Array.from({ length: rows }, (_, i) => i), out);
    assert.deepEqual(out, bytes);
    assert.ok(source.reads.every(([, length]) => length <= 2 ** 20));
    assert.ok(source.reads.length < 20, `${source.reads.length} reads`);
  }
});

Deno.test("rows past byte 2^32 of a file", async () => {
  const path = `${folder}/sparse`;
  const row = 70_000_000; // of 64 bytes: at byte 4.48e9
  const file = Deno.openSync(path, { create: true, write: true });
  file.truncateSync((row + 1) * 64);
  file.seekSync(row * 64, Deno.SeekMode.Start);
  file.writeSync(Uint8Array.from({ length: 64 }, (_, i) => 200 - i));
  file.close();
  const source = openFile(path);
  try {
    const plain = rowEncoding("f32", 16);
    const parts = [{ source, offset: 0, bytes: 64 }];
    const store = partStore({ encoding: plain, rows: row + 1, place: "test", parts });
    const out = new Uint8Array(192);
    await store.readRecords(Int32Array.of(row, 5, row), out);
    const last = Array.from({ length: 64 }, (_, i) => 200 - i);
    assert.deepEqual([...out], [...last, ...new Array(64).fill(0), ...last]);
  } finally {
    source.close();
    Deno.removeSync(path);
  }
});

Deno.test("a file that was cut short is an error, never zeros", async () => {
  const path = `${folder}/short`;
  Deno.writeFileSync(path, records);
  const source = openFile(path);
  const weight = tensorOf(source, 0, [ROWS, recordBytes]);
  const store = fileStore(layerOf(weight, null));
  Deno.truncateSync(path, 700 * recordBytes - 1);
  try {
    const out = new Uint8Array(recordBytes);
    await store.readRecords(Int32Array.of(698), out);
    assert.deepEqual(out, wanted([698]));
    for (const row of [699, 700, 999]) {
      await assert.rejects(store.readRecords(Int32Array.of(row), out), /Cannot read/);
    }
  } finally {
    source.close();
  }
});

Deno.test("threads: many tasks, two batches at once, a file cut short", async () => {
  const path = `${folder}/threads`;
  const rows = 40_000;
  const wide = rowEncoding("f32", 2);
  const bytes = new Uint8Array(new Float64Array(rows).map((_, i) => i + 0.5).buffer);
  Deno.writeFileSync(path, bytes);
  const source = openFile(path);
  const weight = tensorOf(source, 0, [rows, 8]);
  const layer = { layerId: 1, encoding: wide, rows, packed: false, embed: { weight, scale: null } };
  const store = spreadStore(layer, { workers: 4, least: 1 });
  try {
    const lookUp = async (ids: Int32Array) => {
      const out = new Float64Array(ids.length);
      await store.readRecords(ids, new Uint8Array(out.buffer));
      assert.ok(out.every((value, i) => value === ids[i] + 0.5));
    };
    // Runs longer than a task, gaps and repeats.
    const ids = Int32Array.from({ length: 60_000 }, (_, i) => (i * 7919) % rows >> (i % 3));
    await lookUp(ids);
    await Promise.all([lookUp(ids.subarray(0, 30_000)), lookUp(ids.subarray(20_000))]);
    Deno.truncateSync(path, bytes.length / 2);
    await assert.rejects(lookUp(ids), /Cannot read/);
  } finally {
    store.close();
    source.close();
  }
});

Deno.test("threads never read another file that has taken the name of the one opened", async () => {
  const path = `${folder}/replaced`;
  Deno.writeFileSync(path, records);
  const source = openFile(path);
  const layer = layerOf(tensorOf(source, 0, [ROWS, recordBytes]), null);
  const store = spreadStore(layer, { workers: 2, least: 1 });
  try {
    Deno.writeFileSync(`${path}.new`, records.map((byte) => byte ^ 1));
    Deno.renameSync(`${path}.new`, path);
    const out = new Uint8Array(3 * recordBytes);
    await assert.rejects(store.readRecords(Int32Array.of(1, 5, 9), out), {
      name: "EngramError",
      message: /another file has its name/,
    });
    // Without threads the file that was opened goes on giving its bytes.
    await fileStore(layer).readRecords(Int32Array.of(1, 5, 9), out);
    assert.deepEqual(out, wanted([1, 5, 9]));
  } finally {
    store.close();
    source.close();
  }
});

for (const [name, open] of [["a file", fileStore], ["a memory map", mappedStore]] as const) {
  Deno.test(`${name} that is written to is an error at the next batch of rows`, async () => {
    const path = `${folder}/written ${name}`;
    Deno.writeFileSync(path, records);
    const source = openFile(path);
    const store = open(layerOf(tensorOf(source, 0, [ROWS, recordBytes]), null));
    try {
      const out = new Uint8Array(2 * recordBytes);
      const ids = Int32Array.of(3, 8);
      await store.readRecords(ids, out);
      Deno.utimeSync(path, 1, 1);
      await assert.rejects(store.readRecords(ids, out), { name: "EngramError" });
      if (!store.decodeRows) return;
      const rows = new Uint16Array(2 * encoding.headDim);
      await assert.rejects(store.decodeRows(ids, rows), { name: "EngramError" });
      // A map that is looked at past the file's new end would end the process.
      Deno.truncateSync(path, 10);
      await assert.rejects(store.readRecords(ids, out), /it was changed \(10 bytes/);
    } finally {
      store.close();
      source.close();
    }
  });
}

Deno.test("tables that do not hold their rows are refused", () => {
  const short = memorySource(codes.subarray(1));
  assert.throws(() => twoParts(short, memorySource(scales)), /end past its 63999 bytes/);
  assert.throws(() => twoParts(memorySource(codes), memorySource(scales), 1), /end past/);
  const parts = [{ source: memorySource(codes), offset: 0, bytes: codeBytes }];
  assert.throws(
    () => partStore({ encoding, rows: 1, place: "test", parts }),
    /records of 64 bytes, wanted 66/,
  );
  assert.throws(
    () => memoryStore({ encoding, codes: codes.subarray(1), scales }),
    /not whole rows of 64/,
  );
  assert.throws(
    () => fileStore({ layerId: 3, encoding, rows: ROWS, packed: false, embed: null }),
    /layer 3: its table .* is not in what was opened/,
  );
});
