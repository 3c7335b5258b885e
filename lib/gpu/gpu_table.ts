import type { KernelTable } from "../engram/kernels.ts";
import type { RowEncoding } from "../table/row_store.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { hasFastKernel, OWN_BINDINGS, plainLookup } from "./table_source.ts";

/** How a table is split over buffers. */
export interface Split {
  /** Rows in each buffer but the last. */
  readonly chunkRows: number;
  /** Buffers of codes (and as many of scales) that one dispatch reads. */
  readonly chunksPerDispatch: number;
}

/** One buffer of codes and one of scales. */
export interface TableChunk {
  /** [rows, codeBytes]. */
  readonly codes: GPUBuffer;
  /** [rows, scaleBytes]; any buffer where rows have no scales. */
  readonly scales: GPUBuffer;
}

/** What a lookup reads and writes, all on the GPU. */
export interface LookupBuffers {
  /** Int32 [T, columns]. */
  readonly ids: GPUBuffer;
  /** Columns of `ids`. */
  readonly columns: number;
  /** Uint32: columns to serve, in output order. */
  readonly local: GPUBuffer;
  /** How many. */
  readonly localCount: number;
  /** T. */
  readonly tokens: number;
  /** bf16 [T, localCount, headDim]. */
  readonly out: GPUBuffer;
}

/** A table's rows on the GPU, split over as many buffers as its size needs. */
export class GpuTable {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Global number of the first row. */
  readonly rowStart: number;
  /** Rows held. */
  readonly rows: number;
  /** The split. */
  readonly split: Split;
  /** The buffers. */
  readonly chunks: readonly TableChunk[];

  /** A table of buffers that hold its rows already, or will before the first lookup. */
  constructor(
    encoding: RowEncoding,
    rowStart: number,
    rows: number,
    split: Split,
    chunks: readonly TableChunk[],
  ) {
    this.encoding = encoding;
    this.rowStart = rowStart;
    this.rows = rows;
    this.split = split;
    this.chunks = chunks;
  }

  /** Allocates the buffers of a table, unfilled. Frees them again when not all fit. */
  static async allocate(
    gpu: GpuDevice,
    encoding: RowEncoding,
    rowStart: number,
    rows: number,
    split: Split = splitOf(gpu.limits, encoding),
  ): Promise<GpuTable> {
    const chunks: TableChunk[] = [];
    try {
      for (let row = 0; row < Math.max(1, rows); row += split.chunkRows) {
        const count = Math.min(split.chunkRows, rows - row);
        const codes = await gpu.buffer(count * encoding.codeBytes, "table codes");
        const scales = encoding.scaleBytes > 0
          ? await gpu.buffer(count * encoding.scaleBytes, "table scales")
          : codes;
        chunks.push({ codes, scales });
      }
    } catch (error) {
      for (const chunk of chunks) destroyChunk(chunk);
      throw error;
    }
    return new GpuTable(encoding, rowStart, rows, split, chunks);
  }

  /** Copies a table to the GPU. */
  static async upload(gpu: GpuDevice, table: KernelTable, split?: Split): Promise<GpuTable> {
    const { encoding, rowStart, rows, codes, scales } = table;
    const made = await GpuTable.allocate(gpu, encoding, rowStart, rows, split);
    made.chunks.forEach((chunk, i) => {
      const first = i * made.split.chunkRows;
      const end = Math.min(rows, first + made.split.chunkRows);
      gpu.write(
        chunk.codes,
        0,
        codes.subarray(first * encoding.codeBytes, end * encoding.codeBytes),
      );
      if (encoding.scaleBytes > 0) {
        gpu.write(
          chunk.scales,
          0,
          scales.subarray(first * encoding.scaleBytes, end * encoding.scaleBytes),
        );
      }
    });
    return made;
  }

  /** Bytes on the GPU. */
  get bytes(): number {
    return this.rows * this.encoding.recordBytes;
  }

  /** The dispatches of one lookup; all rows of the output are written. */
  lookup(buffers: LookupBuffers): Dispatch[] {
    const { chunkRows, chunksPerDispatch } = this.split;
    const dispatches: Dispatch[] = [];
    const fast = hasFastKernel(this.encoding);
    const rowsOut = buffers.tokens * buffers.localCount;
    const { headDim } = this.encoding;
    const threads = fast ? rowsOut * headDim / 8 / 2 : Math.ceil(rowsOut * headDim / 2);
    for (let from = 0; from < this.chunks.length; from += chunksPerDispatch) {
      const chunks = this.chunks.slice(from, from + chunksPerDispatch);
      dispatches.push({
        kernel: plainLookup(this.encoding, chunks.length, chunkRows),
        uniforms: [
          fast ? rowsOut : rowsOut * headDim,
          buffers.columns,
          buffers.localCount,
          this.rowStart,
          this.rows,
          from * chunkRows,
          Math.min(this.rows, (from + chunks.length) * chunkRows),
          from === 0 ? 1 : 0,
        ],
        buffers: [
          buffers.ids,
          buffers.local,
          buffers.out,
          ...chunks.map((chunk) => chunk.codes),
          ...(this.encoding.scaleBytes > 0 ? chunks.map((chunk) => chunk.scales) : []),
        ],
        grid: gridOf(Math.ceil(threads / 256)),
      });
    }
    return dispatches;
  }

  /** Frees the buffers. */
  destroy(): void {
    for (const chunk of this.chunks) destroyChunk(chunk);
  }
}

/** The largest buffers and the most bindings the device takes. */
export function splitOf(limits: GPUSupportedLimits, encoding: RowEncoding): Split {
  const bytes = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  const widest = Math.max(encoding.codeBytes, encoding.scaleBytes);
  const bindings = Math.min(
    limits.maxStorageBuffersPerShaderStage - OWN_BINDINGS.plain + 1,
    limits.maxBindingsPerBindGroup - OWN_BINDINGS.plain,
  );
  return {
    chunkRows: Math.floor((bytes - 16) / widest),
    chunksPerDispatch: Math.max(1, Math.floor(bindings / 2)),
  };
}

function destroyChunk({ codes, scales }: TableChunk): void {
  codes.destroy();
  if (scales !== codes) scales.destroy();
}
