import { openSimd, type Simd } from "../simd/simd.ts";
import { DECODERS } from "./decoders.ts";
import type { RowEncoding } from "./row_store.ts";

/** Bytes of a block's records and rows: they stay in the processor's cache. */
const BLOCK_BYTES = 2 ** 17;

/**
 * Decodes rows a block at a time: put up to `blockRows` records into `records`, then
 * {@linkcode BlockDecoder.decode} them. fp8 is decoded by SIMD where there is any.
 */
export class BlockDecoder {
  /** Records that fit a block. */
  readonly blockRows: number;
  /** Where a block's records go [blockRows, recordBytes]. */
  readonly records: Uint8Array<ArrayBuffer>;
  readonly #encoding: RowEncoding;
  readonly #rows: Uint16Array<ArrayBuffer>;
  readonly #simd: Simd | null;

  /** A decoder of records of `encoding`; without SIMD the result is the same. */
  constructor(encoding: RowEncoding, useSimd = true) {
    const { headDim, recordBytes, kind } = encoding;
    this.blockRows = Math.max(1, Math.floor(BLOCK_BYTES / (recordBytes + 2 * headDim)));
    const values = this.blockRows * headDim;
    const bytes = 2 * values + this.blockRows * recordBytes;
    this.#encoding = encoding;
    this.#simd = useSimd && kind === "fp8" ? openSimd(bytes) : null;
    const buffer = this.#simd?.buffer ?? new ArrayBuffer(bytes);
    this.#rows = new Uint16Array(buffer, 0, values);
    this.records = new Uint8Array(buffer, 2 * values, this.blockRows * recordBytes);
  }

  /** bf16 bits of the first `rows` records [rows, headDim]: valid until the next block. */
  decode(rows: number): Uint16Array<ArrayBuffer> {
    const { headDim, recordBytes, kind } = this.#encoding;
    const out = this.#rows.subarray(0, rows * headDim);
    const { byteOffset } = this.records;
    if (this.#simd) this.#simd.kernels.decodeFp8(byteOffset, rows, headDim, out.byteOffset);
    else {
      const records = this.records.subarray(0, rows * recordBytes);
      DECODERS[kind](this.#encoding, records, out, rows);
    }
    return out;
  }
}
