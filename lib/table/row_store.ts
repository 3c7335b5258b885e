/** How one row's bytes encode its values. A record is the row's codes followed by its scales. */
export interface RowEncoding {
  /** `fp8`: e4m3fn codes with ue8m0 scale bytes; `int8`: codes with F32 scales; else plain values. */
  readonly kind: "fp8" | "int8" | "bf16" | "f16" | "f32";
  /** Values in a row. */
  readonly headDim: number;
  /** Bytes of a row's codes. */
  readonly codeBytes: number;
  /** Bytes of a row's scales; 0 for plain rows. */
  readonly scaleBytes: number;
  /** codeBytes + scaleBytes. */
  readonly recordBytes: number;
}

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
  /** Releases what the store holds; closing twice is fine. */
  close(): void;
}
