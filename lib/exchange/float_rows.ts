import type { RowEncoding } from "../checkpoint/row_encoding.ts";
import { widenBf16 } from "../table/bf16.ts";
import { decodeRecords } from "../table/decode_rows.ts";
import { f16Value } from "../table/f16.ts";

/**
 * Records of rows as the numbers they stand for, float32 [rows, headDim]. Plain f16 and f32 rows
 * keep the bits that a lookup rounds away; all others are what a lookup gives.
 */
export function floatRows(encoding: RowEncoding, records: Uint8Array): Float32Array {
  const { kind, headDim, recordBytes } = encoding;
  const count = records.length / recordBytes * headDim;
  if (kind === "f32") return new Float32Array(records.slice().buffer);
  if (kind === "f16") {
    const bits = new Uint16Array(records.slice().buffer);
    return Float32Array.from(bits, (value) => f16Values()[value]);
  }
  const rows = new Uint16Array(count);
  decodeRecords(encoding, records, rows);
  return widenBf16(rows);
}

let table: Float32Array | undefined;

/** The value of every half precision number. Made once. */
function f16Values(): Float32Array {
  return table ??= Float32Array.from({ length: 65536 }, (_, bits) => f16Value(bits));
}
