import { packedRows, type PackedSource } from "../offload/packed_rows.ts";
import { checkRoom, checkRows } from "../table/check_rows.ts";
import type { RowEncoding, RowStore } from "../table/row_store.ts";
import { copyBack } from "./copy_back.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { GpuTable, type LookupBuffers, type Split } from "./gpu_table.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { inPieces } from "./pieces.ts";
import { PAGES, type Pages, SortedLookup } from "./sorted_lookup.ts";
import { recordLookup } from "./table_source.ts";

/** Bytes handed to the GPU before those handed to it last are waited for. */
const LOAD_BYTES = 2 ** 26;

/** How a {@linkcode ResidentStore} is loaded. */
export interface LoadOptions {
  /** Ends the loading with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal;
  /** Called with how many rows more are loaded. */
  readonly loaded?: (rows: number) => void;
  /** Over how many buffers; what the device takes unless given. */
  readonly split?: Split;
  /** How the GPU reaches its memory; an H200's way unless given. */
  readonly pages?: Pages;
}

/** A sorted lookup, and the most rows it has room for. */
interface Sorted {
  readonly room: number;
  readonly lookup: SortedLookup;
}

/** A whole table on the GPU: rows are looked up and decoded there. */
export class ResidentStore implements RowStore {
  /** For people. */
  readonly place = "GPU";
  /** The table. */
  readonly table: GpuTable;
  readonly #gpu: GpuDevice;
  readonly #pages: Pages;
  /** The one column of a plain list of rows. */
  readonly #column: GPUBuffer;
  readonly #sorted: Sorted[] = [];

  private constructor(gpu: GpuDevice, table: GpuTable, pages: Pages, column: GPUBuffer) {
    this.#gpu = gpu;
    this.table = table;
    this.#pages = pages;
    this.#column = column;
  }

  /**
   * Copies a layer's whole table to the GPU.
   *
   * @throws an `EngramError` of kind `unavailable` where it does not fit.
   */
  static async load(
    gpu: GpuDevice,
    layer: PackedSource,
    { signal, loaded, split, pages = PAGES }: LoadOptions = {},
  ): Promise<ResidentStore> {
    const { encoding, rows } = layer;
    const table = await GpuTable.allocate(gpu, encoding, 0, rows, split);
    try {
      let [next, waiting, last] = [0, 0, Promise.resolve()];
      for await (const records of packedRows(layer, [[0, rows]], signal)) {
        table.write(gpu, next, records);
        const count = records.length / encoding.recordBytes;
        next += count;
        loaded?.(count);
        waiting += records.length;
        if (waiting < LOAD_BYTES) continue;
        // What has not gone to the GPU takes host memory once more.
        await last;
        last = gpu.finish();
        waiting = 0;
      }
      await last;
      await gpu.finish();
      return new ResidentStore(gpu, table, pages, await gpu.upload(Uint32Array.of(0), "column"));
    } catch (error) {
      table.destroy();
      throw error;
    }
  }

  /** How a record is decoded. */
  get encoding(): RowEncoding {
    return this.table.encoding;
  }

  /** Rows in the table. */
  get rows(): number {
    return this.table.rows;
  }

  /** The dispatches of one lookup, page by page where that is the faster way. */
  async lookup(buffers: LookupBuffers): Promise<Dispatch[]> {
    const rowsOut = buffers.tokens * buffers.localCount;
    if (!SortedLookup.pays(this.table, rowsOut, this.#pages)) return this.table.lookup(buffers);
    const known = this.#sorted.find(({ room }) => room >= rowsOut);
    if (known) return known.lookup.lookup(buffers);
    // Smaller ones are kept: they may be part of what is not submitted yet.
    const room = 2 ** Math.ceil(Math.log2(rowsOut));
    const options = { pageBytes: this.#pages.bytes };
    const lookup = await SortedLookup.create(this.#gpu, this.table, room, options);
    this.#sorted.push({ room, lookup });
    return lookup.lookup(buffers);
  }

  /** Copies records back from the GPU. */
  async readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    const { encoding: { recordBytes }, stride, split, chunks, rows } = this.table;
    checkRoom(ids.length, out.length, ids.length * recordBytes, "bytes");
    checkRows(ids, rows);
    await inPieces(this.#gpu, ids.length, stride, async (first, count) => {
      using lease = this.#gpu.lease();
      const some = await lease.upload(Uint32Array.from(ids.subarray(first, first + count)), "ids");
      const records = await lease.buffer(count * stride, "records");
      const dispatches: Dispatch[] = [];
      for (let from = 0; from < chunks.length; from += split.chunksPerDispatch) {
        const held = chunks.slice(from, from + split.chunksPerDispatch);
        const kernel = recordLookup(this.table, held.length);
        const elements = count * kernel.constants!.ELEMENTS;
        dispatches.push({
          kernel,
          uniforms: [elements, from * split.chunkRows, (from + held.length) * split.chunkRows],
          buffers: [some, records, ...held],
          grid: gridOf(Math.ceil(elements / 256)),
        });
      }
      const size = count * stride;
      const [bytes] = await this.#gpu.submit(dispatches, [{ buffer: records, size }]);
      for (let i = 0; i < count; i++) {
        const record = bytes.subarray(i * stride, i * stride + recordBytes);
        out.set(record, (first + i) * recordBytes);
      }
    });
  }

  /** Rows decoded on the GPU, bf16 [ids.length, headDim]. */
  async decodeRows(ids: Int32Array | Float64Array, out: Uint16Array): Promise<void> {
    const { encoding: { headDim }, rows } = this.table;
    checkRoom(ids.length, out.length, ids.length * headDim, "values");
    checkRows(ids, rows);
    await inPieces(this.#gpu, ids.length, 2 * headDim, async (first, count) => {
      using lease = this.#gpu.lease();
      const some = await lease.upload(Int32Array.from(ids.subarray(first, first + count)), "ids");
      const values = await lease.buffer(2 * count * headDim, "rows");
      const dispatches = await this.lookup({
        ids: some,
        columns: 1,
        local: this.#column,
        localCount: 1,
        all: true,
        tokens: count,
        out: values,
      });
      await this.#gpu.submit(dispatches, [copyBack(values, out, first * headDim, count * headDim)]);
    });
  }

  /** Frees the table. */
  close(): void {
    this.table.destroy();
    this.#column.destroy();
    for (const { lookup } of this.#sorted.splice(0)) lookup.destroy();
  }
}
