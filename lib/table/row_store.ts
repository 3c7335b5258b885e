import type { RowEncoding } from "../checkpoint/row_encoding.ts";

export type { RowEncoding } from "../checkpoint/row_encoding.ts";

/**
 * Where a layer's rows are kept: the seam behind which host memory, a file, a memory map,
 * a packed file and a remote file stand. All give the same bytes.
 */
export interface RowStore {
  /** How a record is to be decoded. */
  readonly encoding: RowEncoding;
  /** Rows in the table, padding rows included. */
  readonly rows: number;
  /** What it is, for people: "file", "packed file", "memory", … */
  readonly place: string;
  /**
   * Copies the record of `ids[i]` to `out[i * recordBytes …]` for each i, in the order of `ids`.
   * An id that is negative, fractional, NaN or not below `rows` is an error that names its index.
   */
  readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void>;
  /**
   * The rows of `ids` decoded to bf16, [ids.length, headDim], where the store has them decoded sooner
   * than their records: on the GPU, or where they lie in memory. Ids are checked as by {@linkcode readRecords}.
   */
  decodeRows?(ids: Int32Array | Float64Array, out: Uint16Array): Promise<void>;
  /** Releases what the store holds; closing twice is fine. */
  close(): void;
}
