import { narrowToBf16, toBf16 } from "./bf16.ts";
import { f16AsBf16 } from "./f16.ts";
import { fp8Products } from "./fp8.ts";
import { SCALE_GROUP } from "./row_encoding.ts";
import type { RowEncoding } from "./row_store.ts";

/** Decodes `rows` whole records to bf16 bits. */
export type Decoder = (e: RowEncoding, records: Uint8Array, out: Uint16Array, rows: number) => void;

/** The decoders in JavaScript, by encoding: what faster ones must equal. */
export const DECODERS: Readonly<Record<RowEncoding["kind"], Decoder>> = {
  fp8({ headDim, codeBytes, recordBytes }, records, out, rows) {
    const products = fp8Products();
    for (let row = 0; row < rows; row++) {
      const codes = row * recordBytes;
      const into = row * headDim;
      for (let from = 0, scale = codes + codeBytes; from < headDim; from += SCALE_GROUP, scale++) {
        const base = records[scale] << 8;
        const end = Math.min(from + SCALE_GROUP, headDim);
        for (let i = from; i < end; i++) out[into + i] = products[base | records[codes + i]];
      }
    }
  },
  int8({ headDim, codeBytes, recordBytes }, records, out, rows) {
    const view = viewOf(records);
    for (let row = 0; row < rows; row++) {
      const codes = row * recordBytes;
      for (let i = 0; i < headDim; i++) {
        const scale = view.getFloat32(codes + codeBytes + 4 * Math.floor(i / SCALE_GROUP), true);
        out[row * headDim + i] = toBf16(view.getInt8(codes + i) * scale);
      }
    }
  },
  bf16(_, records, out) {
    new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(records);
  },
  f16(_, records, out) {
    const table = f16AsBf16();
    const view = viewOf(records);
    for (let i = 0; i < out.length; i++) out[i] = table[view.getUint16(2 * i, true)];
  },
  f32(_, records, out) {
    const aligned = records.byteOffset % 4 === 0 ? records : records.slice();
    narrowToBf16(new Float32Array(aligned.buffer, aligned.byteOffset, out.length), out);
  },
};

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
