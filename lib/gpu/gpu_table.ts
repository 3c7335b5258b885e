import type { KernelTable } from "../engram/kernels.ts";
import { EngramError } from "../errors.ts";
import type { RowEncoding } from "../table/row_store.ts";
import type { BufferLease } from "./buffer_lease.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { keepsSubnormals } from "./subnormals.ts";
import {
  anyLookup,
  hasFastKernel,
  OWN_BINDINGS,
  PLAIN_GROUP,
  plainLookup,
} from "./table_source.ts";

/** Bytes of records put together on the host at a time. */
const PIECE_BYTES = 2 ** 24;

/** How a table is split over buffers. */
export interface Split {
  /** Rows in each buffer but the last. */
  readonly chunkRows: number;
  /** Buffers that one dispatch reads. */
  readonly chunksPerDispatch: number;
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
  /** Whether these are all columns, in order. */
  readonly all: boolean;
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
  /** Bytes from one record (codes, then scales) to the next. */
  readonly stride: number;
  /** The buffers. */
  readonly chunks: readonly GPUBuffer[];
  /** Whether the device widens subnormal halves exactly, which makes decoding shorter. */
  readonly subnormals: boolean;

  private constructor(
    encoding: RowEncoding,
    rowStart: number,
    rows: number,
    split: Split,
    chunks: readonly GPUBuffer[],
    subnormals: boolean,
  ) {
    this.encoding = encoding;
    this.rowStart = rowStart;
    this.rows = rows;
    this.split = split;
    this.stride = strideOf(encoding);
    this.chunks = chunks;
    this.subnormals = subnormals;
  }

  /**
   * Allocates the buffers of a table, unfilled. Frees them again when not all fit.
   *
   * @throws an {@linkcode EngramError} of kind `unavailable` that says how much the device gave.
   */
  static async allocate(
    gpu: GpuDevice,
    encoding: RowEncoding,
    rowStart: number,
    rows: number,
    split: Split = splitOf(gpu.limits, encoding),
  ): Promise<GpuTable> {
    const chunks: GPUBuffer[] = [];
    const bytes = rows * strideOf(encoding);
    try {
      for (let row = 0; row < Math.max(1, rows); row += split.chunkRows) {
        const count = Math.min(split.chunkRows, rows - row);
        chunks.push(await gpu.buffer(count * strideOf(encoding), "table"));
      }
    } catch (cause) {
      const given = chunks.reduce((sum, { size }) => sum + size, 0);
      for (const chunk of chunks) chunk.destroy();
      throw new EngramError(
        "unavailable",
        `Cannot keep a table on the GPU: it takes ${bytes} bytes, and ${gpu.name} gave ${given} ` +
          "and no more",
        { cause, hint: "Use `--backend file`: rows are then gathered on the host and uploaded" },
      );
    }
    const subnormals = await keepsSubnormals(gpu);
    return new GpuTable(encoding, rowStart, rows, split, chunks, subnormals);
  }

  /** Copies a table to the GPU. */
  static async upload(gpu: GpuDevice, table: KernelTable, split?: Split): Promise<GpuTable> {
    const { encoding: { codeBytes, scaleBytes }, rowStart, rows, codes, scales } = table;
    const made = await GpuTable.allocate(gpu, table.encoding, rowStart, rows, split);
    const { recordBytes } = table.encoding;
    const piece = Math.max(1, Math.floor(PIECE_BYTES / recordBytes));
    for (let first = 0; first < rows; first += piece) {
      const count = Math.min(piece, rows - first);
      const records = new Uint8Array(count * recordBytes);
      for (let i = 0; i < count; i++) {
        const row = first + i;
        const at = i * recordBytes;
        records.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), at);
        records.set(scales.subarray(row * scaleBytes, (row + 1) * scaleBytes), at + codeBytes);
      }
      made.write(gpu, first, records);
    }
    return made;
  }

  /** A table for a while: `records`, each its codes and then its scales. At most what a buffer holds. */
  static async lend(
    gpu: GpuDevice,
    lease: BufferLease,
    encoding: RowEncoding,
    records: Uint8Array,
  ): Promise<GpuTable> {
    const rows = records.length / encoding.recordBytes;
    const chunk = await lease.upload(strided(encoding, records), "gathered rows");
    const subnormals = await keepsSubnormals(gpu);
    // The device's own split, whatever the rows: each split is a kernel to be compiled.
    return new GpuTable(encoding, 0, rows, splitOf(gpu.limits, encoding), [chunk], subnormals);
  }

  /** Writes records, each its codes and then its scales, from row `first` (of those held) on. */
  write(gpu: GpuDevice, first: number, records: Uint8Array): void {
    const data = strided(this.encoding, records);
    const { chunkRows } = this.split;
    const count = data.length / this.stride;
    for (let done = 0; done < count;) {
      const chunk = Math.floor((first + done) / chunkRows);
      const inside = (first + done) % chunkRows;
      const some = Math.min(count - done, chunkRows - inside);
      const bytes = data.subarray(done * this.stride, (done + some) * this.stride);
      gpu.write(this.chunks[chunk], inside * this.stride, bytes);
      done += some;
    }
  }

  /** Bytes on the GPU. */
  get bytes(): number {
    return this.rows * this.stride;
  }

  /** The dispatches of one lookup; all rows of the output are written. */
  lookup(buffers: LookupBuffers): Dispatch[] {
    const { chunkRows, chunksPerDispatch } = this.split;
    const dispatches: Dispatch[] = [];
    const fast = hasFastKernel(this.encoding);
    const rowsOut = buffers.tokens * buffers.localCount;
    const { headDim } = this.encoding;
    const groups = fast
      ? Math.ceil(rowsOut * headDim / 8 / PLAIN_GROUP)
      : Math.ceil(rowsOut * headDim / 2 / 256);
    for (let from = 0; from < this.chunks.length; from += chunksPerDispatch) {
      const chunks = this.chunks.slice(from, from + chunksPerDispatch);
      const held = [
        this.rowStart,
        this.rows,
        from * chunkRows,
        Math.min(this.rows, (from + chunks.length) * chunkRows),
        from === 0 ? 1 : 0,
      ];
      dispatches.push({
        kernel: fast ? plainLookup(this, chunks.length, buffers) : anyLookup(this, chunks.length),
        uniforms: fast
          ? [rowsOut, ...held]
          : [rowsOut * headDim, buffers.columns, buffers.localCount, ...held],
        buffers: [
          buffers.ids,
          buffers.local,
          buffers.out,
          ...chunks,
        ],
        grid: gridOf(groups),
      });
    }
    return dispatches;
  }

  /** Frees the buffers. */
  destroy(): void {
    for (const chunk of this.chunks) chunk.destroy();
  }
}

/** The largest buffers and the most bindings the device takes. */
export function splitOf(limits: GPUSupportedLimits, encoding: RowEncoding): Split {
  const bytes = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  const bindings = Math.min(
    limits.maxStorageBuffersPerShaderStage - OWN_BINDINGS.plain + 1,
    limits.maxBindingsPerBindGroup - OWN_BINDINGS.plain,
  );
  return {
    chunkRows: Math.floor((bytes - 16) / strideOf(encoding)),
    chunksPerDispatch: Math.max(1, bindings),
  };
}

/** Records start where their first codes can be loaded at once. */
export function strideOf(encoding: RowEncoding): number {
  const step = hasFastKernel(encoding) ? 8 : 4;
  return Math.ceil(encoding.recordBytes / step) * step;
}

/** Records one after another as records {@linkcode strideOf} apart; the same array where they are. */
function strided(encoding: RowEncoding, records: Uint8Array): Uint8Array {
  const { recordBytes } = encoding;
  const stride = strideOf(encoding);
  if (stride === recordBytes) return records;
  const rows = records.length / recordBytes;
  const out = new Uint8Array(rows * stride);
  for (let row = 0; row < rows; row++) {
    out.set(records.subarray(row * recordBytes, (row + 1) * recordBytes), row * stride);
  }
  return out;
}
