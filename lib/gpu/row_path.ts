import type { HashBatch } from "../hash/hash_batch.ts";
import type { BufferLease } from "./buffer_lease.ts";
import type { Download } from "./gpu_device.ts";
import type { Dispatch } from "./kernel.ts";

/** Rows of some tokens of a batch, once the dispatches have run. */
export interface RowPiece {
  /** What makes them. */
  readonly dispatches: readonly Dispatch[];
  /** bf16 [count, columns, headDim] of each layer. */
  readonly rows: readonly GPUBuffer[];
  /** What must be copied back for {@linkcode RowBatch.ids}. */
  readonly downloads: readonly Download[];
}

/** A batch of tokens, whose rows can be asked for piece by piece. */
export interface RowBatch {
  /** The rows of tokens [first, first + count), in buffers of `lease`. */
  piece(first: number, count: number, lease: BufferLease): Promise<RowPiece>;
  /** A layer's row numbers, Int32 [T, columns]: of a batch begun with them, when all pieces are done. */
  ids(layer: number): Int32Array;
}

/** A way for some layers' rows to get to the GPU. */
export interface RowPath {
  /** Bytes of a token in its largest buffer. */
  readonly bytesPerToken: number;
  /** Begins a checked batch, with what all its pieces need in buffers of `lease`. */
  begin(batch: HashBatch, lease: BufferLease, ids: boolean): Promise<RowBatch>;
  /** Frees what is on the GPU. */
  close(): void;
}
