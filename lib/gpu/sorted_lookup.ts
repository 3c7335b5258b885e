import sortCount from "../../shaders/sort_count.wgsl" with { type: "text" };
import sortPlace from "../../shaders/sort_place.wgsl" with { type: "text" };
import sortRows from "../../shaders/sort_rows.wgsl" with { type: "text" };
import sortScan from "../../shaders/sort_scan.wgsl" with { type: "text" };
import type { GpuDevice } from "./gpu_device.ts";
import type { GpuTable, LookupBuffers } from "./gpu_table.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { hasFastKernel, PAGE_BYTES, SORTED_GROUP, sortedLookup } from "./table_source.ts";

/** How a GPU reaches its memory. */
export interface Pages {
  /** Bytes of a page. */
  readonly bytes: number;
  /** Bytes of the pages it remembers the place of: order does not matter in tables up to this size. */
  readonly cached: number;
}

/** As measured on an H200. */
export const PAGES: Pages = { bytes: PAGE_BYTES, cached: 8e9 };

/** Turns of a workgroup over the order: it stays on a page until it is done with it. */
const TURNS = 2;

/**
 * Lookup in a table with more pages than the GPU's page cache: the rows are listed page by page
 * first, so that each page is met once. Made for one size of batch, whose list it keeps.
 */
export class SortedLookup {
  readonly #table: GpuTable;
  readonly #buckets: number;
  readonly #turns: number;
  readonly #pageBytes: number;
  readonly #counts: GPUBuffer;
  readonly #places: GPUBuffer;
  readonly #order: GPUBuffer;

  private constructor(table: GpuTable, turns: number, pageBytes: number, buffers: GPUBuffer[]) {
    this.#table = table;
    this.#turns = turns;
    this.#pageBytes = pageBytes;
    this.#buckets = bucketsOf(table, pageBytes);
    [this.#counts, this.#places, this.#order] = buffers;
  }

  /** Whether a lookup of `rowsOut` rows gains by sorting: each page is then met more than once. */
  static pays(table: GpuTable, rowsOut: number, { bytes, cached }: Pages = PAGES): boolean {
    return hasFastKernel(table.encoding) && table.bytes > cached &&
      rowsOut * bytes > table.bytes / 2;
  }

  /** Makes room for lookups of up to `rowsOut` rows. */
  static async create(
    gpu: GpuDevice,
    table: GpuTable,
    rowsOut: number,
    { turns = TURNS, pageBytes = PAGE_BYTES } = {},
  ): Promise<SortedLookup> {
    const buckets = bucketsOf(table, pageBytes);
    return new SortedLookup(table, turns, pageBytes, [
      await gpu.buffer(4 * buckets, "bucket counts"),
      await gpu.buffer(4 * buckets, "bucket places"),
      await gpu.buffer(8 * rowsOut, "row order"),
    ]);
  }

  /** The dispatches of one lookup; all rows of the output are written. */
  lookup(buffers: LookupBuffers): Dispatch[] {
    const { encoding, rowStart, rows, split, stride, chunks } = this.#table;
    const rowsOut = buffers.tokens * buffers.localCount;
    const sizes = [rowsOut, buffers.columns, buffers.localCount, rowStart, rows, this.#buckets];
    const constants = {
      CHUNK_ROWS: split.chunkRows,
      CHUNK_PAGES: pagesOf(this.#table, this.#pageBytes),
      STRIDE: stride,
      PAGE_BYTES: this.#pageBytes,
    };
    const dispatches: Dispatch[] = [
      {
        kernel: { name: "sort_count", source: `${sortRows}\n${sortCount}`, constants },
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
        kernel: { name: "sort_place", source: `${sortRows}\n${sortPlace}`, constants },
        uniforms: sizes,
        buffers: [buffers.ids, buffers.local, this.#places, this.#order],
        grid: gridOf(Math.ceil(rowsOut / 256)),
      },
    ];
    const pieces = rowsOut * encoding.headDim / 8;
    for (let from = 0; from < chunks.length; from += split.chunksPerDispatch) {
      const some = chunks.slice(from, from + split.chunksPerDispatch);
      dispatches.push({
        kernel: sortedLookup(this.#table, some.length, this.#turns, this.#pageBytes),
        uniforms: [
          rowsOut,
          from * split.chunkRows,
          Math.min(rows, (from + some.length) * split.chunkRows),
          from === 0 ? 1 : 0,
        ],
        buffers: [
          this.#order,
          buffers.out,
          ...some,
        ],
        grid: gridOf(Math.ceil(pieces / SORTED_GROUP / this.#turns)),
      });
    }
    return dispatches;
  }

  /** Frees the lists. */
  destroy(): void {
    for (const buffer of [this.#counts, this.#places, this.#order]) buffer.destroy();
  }
}

/** Pages of each of the table's buffers. */
function pagesOf({ split, stride }: GpuTable, pageBytes: number): number {
  return Math.ceil(split.chunkRows * stride / pageBytes);
}

/** One bucket a page, and one for rows held nowhere. */
function bucketsOf(table: GpuTable, pageBytes: number): number {
  return table.chunks.length * pagesOf(table, pageBytes) + 1;
}
