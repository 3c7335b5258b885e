import { BlockDecoder } from "../../lib/table/block_decoder.ts";
import { decodeRecords } from "../../lib/table/decode_rows.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { assertSameBits } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";

const PRODUCTS = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;

/** bf16 bits of a record, value by value from the golden products. */
function wanted(record: Uint8Array, headDim: number): number[] {
  return Array.from(
    record.subarray(0, headDim),
    (code, i) => Number(PRODUCTS[record[headDim + (i >> 5)] * 256 + code]),
  );
}

for (const useSimd of [true, false]) {
  const by = useSimd ? "by SIMD" : "in JavaScript";

  Deno.test(`fp8 rows of every code and scale are the golden ones ${by}`, () => {
    // Codes in their order, and with every neighbour: sixteen are decoded at once.
    const encoding = rowEncoding("fp8", 256);
    const decoder = new BlockDecoder(encoding, useSimd);
    for (let scale = 0; scale < 256; scale++) {
      for (const step of [1, 3, 85, 97]) {
        const record = Uint8Array.from({ length: 264 }, (_, i) => i < 256 ? i * step : scale);
        decoder.records.set(record);
        const [got, right] = [decoder.decode(1), wanted(record, 256)];
        assertSameBits(got, right, `scale ${scale}, step ${step}`);
      }
    }
  });

  Deno.test(`fp8 rows of any width decode value by value ${by}`, () => {
    const random = new Random(3);
    for (const headDim of [1, 16, 31, 32, 33, 64, 95, 256, 257]) {
      const encoding = rowEncoding("fp8", headDim);
      const decoder = new BlockDecoder(encoding, useSimd);
      for (let round = 0; round < 20; round++) {
        const record = random.bytes(encoding.recordBytes);
        // Rounds without NaN and tiny codes, and with scales all of which are usual ones.
        if (round % 2 === 0) {
          for (let i = 0; i < headDim; i++) record[i] = (record[i] & 0x80) | (8 + record[i] % 118);
        }
        if (round % 4 < 2) {
          for (let i = headDim; i < record.length; i++) record[i] = 10 + record[i] % 237;
        }
        decoder.records.set(record);
        assertSameBits(decoder.decode(1), wanted(record, headDim), `${headDim}, round ${round}`);
      }
    }
  });
}

Deno.test("more records than a block decode in order", () => {
  const encoding = rowEncoding("fp8", 64);
  const rows = 2 * new BlockDecoder(encoding).blockRows + 3;
  const records = new Random(5).bytes(rows * encoding.recordBytes);
  const out = new Uint16Array(rows * 64);
  decodeRecords(encoding, records, out);
  for (let row = 0; row < rows; row++) {
    const record = records.subarray(row * encoding.recordBytes, (row + 1) * encoding.recordBytes);
    assertSameBits(out.subarray(row * 64, (row + 1) * 64), wanted(record, 64), `row ${row}`);
  }
});
