import assert from "node:assert/strict";
import type { GpuDevice } from "../../../lib/gpu/gpu_device.ts";
import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { GpuTable, type LookupBuffers, splitOf } from "../../../lib/gpu/gpu_table.ts";
import type { Dispatch } from "../../../lib/gpu/kernel.ts";
import { SortedLookup } from "../../../lib/gpu/sorted_lookup.ts";
import { decodeRecords } from "../../../lib/table/decode_rows.ts";
import { rowEncoding } from "../../../lib/table/row_encoding.ts";
import { filledRecord, fillTable } from "./fill.ts";
import type { Report } from "./report.ts";
import { timeDispatches } from "./time_dispatches.ts";

const ENCODING = rowEncoding("fp8", 256);
const COLUMNS = 24;
/** A row read (codes and scales), its id, and the row written. */
const ROW_BYTES = 264 + 4 + 512;
/** Sets of ids used in turn, so that no cache has the rows. */
const SETS = 3;
/** Rows of the released layer 1. */
const RELEASED_ROWS = 384_006_168;

/** Random rows of a table of 6 GB, bytes counted as read, asked for and written. */
export async function benchLookup({ gpu }: GpuKernels, report: Report, small: boolean) {
  const rows = small ? 24_000 : 22_800_000;
  const table = await GpuTable.allocate(gpu, ENCODING, 0, rows);
  await fillTable(gpu, table);
  for (const tokens of small ? [16] : [1, 256, 2048, 8192]) {
    const sets = await lookupSets(gpu, table, tokens);
    const dispatches = sets.map((set) => table.lookup(set.buffers));
    const seconds = await timeDispatches(gpu, dispatches, { quick: small });
    report.add({
      name: "lookup",
      size: `${tokens} × ${COLUMNS}, ${(table.bytes / 1e9).toFixed(1)} GB`,
      seconds,
      counts: { amount: tokens * COLUMNS * ROW_BYTES, unit: "bytes" },
      checked: await checkRows(gpu, table, sets[0], dispatches[0]),
    });
    for (const set of sets) set.destroy();
  }
  table.destroy();
}

/** The released layer 1 whole on the GPU: random rows of each column. */
export async function benchWholeTable({ gpu }: GpuKernels, report: Report, small: boolean) {
  const rows = small ? 240_000 : RELEASED_ROWS;
  const split = splitOf(gpu.limits, ENCODING);
  const began = performance.now();
  const table = await GpuTable.allocate(gpu, ENCODING, 0, rows, split);
  console.log(`${table.chunks.length} buffers in ${Math.round(performance.now() - began)} ms`);
  await fillTable(gpu, table);
  console.log(`filled after ${Math.round(performance.now() - began)} ms`);
  const size = (tokens: number) => `${tokens} × ${COLUMNS}, ${(table.bytes / 1e9).toFixed(1)} GB`;
  for (const tokens of small ? [16] : [2048, 8192, 65536]) {
    const sets = await lookupSets(gpu, table, tokens);
    const counts = { amount: tokens * COLUMNS, unit: "rows" };
    if (tokens <= 8192) {
      const plain = sets.map((set) => table.lookup(set.buffers));
      const seconds = await timeDispatches(gpu, plain, { quick: small });
      report.add({ name: "lookup, as asked", size: size(tokens), seconds, counts });
    }
    for (const run of small ? [2] : [1, 2]) {
      const sorted = await SortedLookup.create(gpu, table, tokens * COLUMNS, { turns: run });
      const dispatches = sets.map((set) => sorted.lookup(set.buffers));
      const seconds = await timeDispatches(gpu, dispatches, { quick: small });
      report.add({
        name: `lookup, page by page, run ${run}`,
        size: size(tokens),
        seconds,
        counts,
        checked: await checkRows(gpu, table, sets[1], dispatches[1]),
      });
      sorted.destroy();
    }
    for (const set of sets) set.destroy();
  }
  table.destroy();
}

interface Set {
  readonly ids: Int32Array;
  readonly buffers: LookupBuffers;
  destroy(): void;
}

/** Random ids, each column's from its own share of the table. */
async function lookupSets(gpu: GpuDevice, table: GpuTable, tokens: number): Promise<Set[]> {
  const share = Math.floor(table.rows / COLUMNS);
  const local = await gpu.upload(Uint32Array.from({ length: COLUMNS }, (_, i) => i), "columns");
  const sets: Set[] = [];
  for (let i = 0; i < SETS; i++) {
    const ids = Int32Array.from(
      { length: tokens * COLUMNS },
      (_, at) => (at % COLUMNS) * share + Math.floor(Math.random() * share),
    );
    const own = [
      await gpu.upload(ids, "ids"),
      await gpu.buffer(tokens * COLUMNS * 512, "rows"),
    ];
    sets.push({
      ids,
      buffers: {
        ids: own[0],
        columns: COLUMNS,
        local,
        localCount: COLUMNS,
        all: true,
        tokens,
        out: own[1],
      },
      destroy: () => own.forEach((buffer) => buffer.destroy()),
    });
  }
  return sets;
}

/** Runs into a poisoned output and compares rows from its start and end with the CPU's decoding. */
async function checkRows(
  gpu: GpuDevice,
  table: GpuTable,
  { ids, buffers }: Set,
  dispatches: readonly Dispatch[],
): Promise<string> {
  const poison = new Uint8Array(Math.min(buffers.out.size, 2 ** 20)).fill(0x7f);
  for (const at of [0, buffers.out.size - poison.length]) gpu.write(buffers.out, at, poison);
  await gpu.submit(dispatches);
  const rows = Math.min(ids.length, 2000);
  const pieces = [0, ids.length - rows];
  for (const first of pieces) {
    const copy = await gpu.buffer(rows * 512, "rows to check");
    const encoder = gpu.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffers.out, first * 512, copy, 0, rows * 512);
    gpu.device.queue.submit([encoder.finish()]);
    const [bytes] = await gpu.submit([], [{ buffer: copy, size: rows * 512 }]);
    copy.destroy();
    const found = new Uint16Array(bytes.buffer);
    const wanted = new Uint16Array(256);
    for (let i = 0; i < rows; i++) {
      decodeRecords(ENCODING, filledRecord(table, ids[first + i]), wanted);
      assert.deepEqual(found.subarray(i * 256, (i + 1) * 256), wanted, `row ${first + i}`);
    }
  }
  return `${pieces.length * rows} rows exact`;
}
