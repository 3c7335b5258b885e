/** Rows decoded to bf16, beside the plain way: a float for each value, rounded one by one. */
import { decodeRecords } from "../../lib/table/decode_rows.ts";
import { toBf16 } from "../../lib/table/bf16.ts";
import { fp8Value, ue8m0Value } from "../../lib/table/fp8.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { Random } from "../kernels/random.ts";

const ROWS = 4096;

for (const kind of ["fp8", "int8", "f16", "f32", "bf16"] as const) {
  const encoding = rowEncoding(kind, 256);
  const records = new Random(1).bytes(ROWS * encoding.recordBytes);
  const out = new Uint16Array(ROWS * 256);
  Deno.bench(`${kind}, ${ROWS} rows of 256`, { group: kind, baseline: true }, () => {
    decodeRecords(encoding, records, out);
  });
  if (kind !== "fp8") continue;
  Deno.bench(`${kind}, a float for each value`, { group: kind }, () => {
    for (let row = 0; row < ROWS; row++) {
      const at = row * 264;
      for (let i = 0; i < 256; i++) {
        const scale = ue8m0Value(records[at + 256 + (i >> 5)]);
        out[row * 256 + i] = toBf16(fp8Value(records[at + i]) * scale);
      }
    }
  });
}
