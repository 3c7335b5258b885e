import sortCount from "../../shaders/sort_count.wgsl" with { type: "text" };
import sortPlace from "../../shaders/sort_place.wgsl" with { type: "text" };
import sortScan from "../../shaders/sort_scan.wgsl" with { type: "text" };
import type { GpuDevice } from "./gpu_device.ts";
import type { GpuTable, LookupBuffers } from "./gpu_table.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { hasFastKernel, sortedLookup } from "./table_source.ts";

/** A Vulkan allocation comes in pages of 2 MiB, and a miss of the page cache costs as much as 8 KiB. */
const PAGE_BYTES = 2 ** 21;
/** Tables up to this size fit the page cache, in which order does not matter. */
export const CACHED_PAGES_BYTES = 8e9;
/** Passes of a workgroup over the order: it stays on a page until it is done with it. */
const RUN = 4;

/**
 * Lookup in a table with more pages than the GPU's page cache: the rows are listed page by page
 * first, so that each page is met once. Made for one size of batch, whose list it keeps.
 */
export class SortedLookup {
  readonly #table: GpuTable;
  readonly #buckets: number;
  readonly #bucketRows: number;
  readonly #run: number;
  readonly #counts: GPUBuffer;
  readonly #places: GPUBuffer;
  readonly #order: GPUBuffer;

  private constructor(table: GpuTable, bucketRows: number, run: number, buffers: GPUBuffer[]) {
    this.#table = table;
    this.#bucketRows = bucketRows;
    this.#buckets = bucketsOf(table, bucketRows);
    this.#run = run;
    [this.#counts, this.#places, this.#order] = buffers;
  }

  /** Whether a lookup of `rowsOut` rows gains by sorting: each page is then met more than once. */
  static pays(table: GpuTable, rowsOut: number): boolean {
    return hasFastKernel(table.encoding) && table.bytes > CACHED_PAGES_BYTES &&
      rowsOut * PAGE_BYTES > table.bytes / 2;
  }

  /** Makes room for lookups of up to `rowsOut` rows. */
  static async create(
    gpu: GpuDevice,
    table: GpuTable,
    rowsOut: number,
    { run = RUN, bucketRows = Math.max(1, Math.floor(PAGE_BYTES / table.encoding.codeBytes)) } = {},
  ): Promise<SortedLookup> {
    const buckets = bucketsOf(table, bucketRows);
    return new SortedLookup(table, bucketRows, run, [
      await gpu.buffer(4 * buckets, "bucket counts"),
      await gpu.buffer(4 * buckets, "bucket places"),
      await gpu.buffer(8 * rowsOut, "row order"),
    ]);
  }

  /** The dispatches of one lookup; all rows of the output are written. */
  lookup(buffers: LookupBuffers): Dispatch[] {
    const { encoding, rowStart, rows, split, chunks } = this.#table;
    const rowsOut = buffers.tokens * buffers.localCount;
    const sizes = [rowsOut, buffers.columns, buffers.localCount, rowStart, rows, this.#buckets];
    const constants = { BUCKET_ROWS: this.#bucketRows };
    const dispatches: Dispatch[] = [
      {
        kernel: { name: "sort_count", source: sortCount, constants },
        uniforms: sizes,
        buffers: [buffers.ids, buffers.local, this.#counts],
        grid: gridOf(Math.ceil(rowsOut / 256)),
      },
      {
        kernel: { name: "sort_scan", source: sortScan },
        uniforms: [this.#buckets],
        buffers: [this.#counts, this.#places],
        grid: [1, 1, 1],
      },
      {
        kernel: { name: "sort_place", source: sortPlace, constants },
        uniforms: sizes,
        buffers: [buffers.ids, buffers.local, this.#places, this.#order],
        grid: gridOf(Math.ceil(rowsOut / 256)),
      },
    ];
    const threads = rowsOut * encoding.headDim / 8;
    for (let from = 0; from < chunks.length; from += split.chunksPerDispatch) {
      const some = chunks.slice(from, from + split.chunksPerDispatch);
      dispatches.push({
        kernel: sortedLookup(encoding, some.length, split.chunkRows, this.#run),
        uniforms: [
          rowsOut,
          from * split.chunkRows,
          Math.min(rows, (from + some.length) * split.chunkRows),
          from === 0 ? 1 : 0,
        ],
        buffers: [
          this.#order,
          buffers.out,
          ...some.map((chunk) => chunk.codes),
          ...some.map((chunk) => chunk.scales),
        ],
        grid: gridOf(Math.ceil(threads / 512 / this.#run)),
      });
    }
    return dispatches;
  }

  /** Frees the lists. */
  destroy(): void {
    for (const buffer of [this.#counts, this.#places, this.#order]) buffer.destroy();
  }
}

/** One bucket a page, and one for rows held nowhere. */
function bucketsOf(table: GpuTable, bucketRows: number): number {
  return Math.ceil(table.rows / bucketRows) + 1;
}
