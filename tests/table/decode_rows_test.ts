import assert from "node:assert/strict";
import fc from "fast-check";
import { fromBf16, narrowToBf16, toBf16, widenBf16 } from "../../lib/table/bf16.ts";
import { decodeRecords } from "../../lib/table/decode_rows.ts";
import { f16Value } from "../../lib/table/f16.ts";
import { fp8Products } from "../../lib/table/fp8.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { assertSameBits, bf16Number, nearestBf16 } from "../kernels/bf16_oracle.ts";

Deno.test("all 65,536 products are the golden ones", () => {
  const golden = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;
  assertSameBits(fp8Products(), golden, "products");
  // The bytes engines disagree on, as the serving kernel reads them.
  const at = (scale: number, code: number) => fp8Products()[scale * 256 + code];
  assert.equal(at(0, 0x38), 0, "scale byte 0 is 0.0");
  assert.equal(at(255, 0x38), 0x7f80, "scale byte 255 is infinity");
  assert.equal(at(255, 0xb8), 0xff80);
  assert.equal(at(255, 0), 0x7fff, "infinity times zero");
  assert.equal(at(127, 0x7f), 0x7fff, "code 0x7f is NaN");
  assert.equal(at(127, 0xff), 0x7fff, "code 0xff is NaN");
  assert.equal(at(127, 0x80), 0x8000, "minus zero");
});

Deno.test("every bf16 value widens and narrows to itself", () => {
  const all = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
  const wide = widenBf16(all);
  assertSameBits(narrowToBf16(wide), all, "values");
  for (let bits = 0; bits < 65536; bits += 7) assert.deepEqual(fromBf16(bits), bf16Number(bits));
});

Deno.test("rounding to bf16: ties to even, carries, the largest, the least", () => {
  const cases: [number, number][] = [
    [1, 0x3f80],
    [1 + 2 ** -8, 0x3f80], // a tie: down to even
    [1 + 3 * 2 ** -8, 0x3f82], // a tie: up to even
    [1 + 2 ** -8 + 2 ** -20, 0x3f81],
    [2 - 2 ** -20, 0x4000], // the carry reaches the exponent
    [3.4e38, 0x7f80], // and infinity
    [3.3895e38, 0x7f7f],
    [2 ** -133, 0x0001],
    [2 ** -134, 0x0000], // a tie with zero
    [1.5 * 2 ** -134, 0x0001],
    [-0, 0x8000],
    [-Infinity, 0xff80],
    [NaN, 0x7fff],
  ];
  for (const [value, bits] of cases) assert.equal(toBf16(value), bits, `${value}`);
});

Deno.test("rounding to bf16 is to the nearest of the two neighbours, for any float32", () => {
  fc.assert(
    fc.property(fc.float(), (value) => {
      assertSameBits(Uint16Array.of(toBf16(value)), [nearestBf16(value)], `${value}`);
      const narrowed = narrowToBf16(Float32Array.of(value));
      assertSameBits(narrowed, [nearestBf16(value)], `${value}`);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("half precision: every value", () => {
  const view = new DataView(new ArrayBuffer(2));
  for (let bits = 0; bits < 65536; bits++) {
    view.setUint16(0, bits);
    assert.deepEqual(f16Value(bits), view.getFloat16(0), `0x${bits.toString(16)}`);
  }
});

Deno.test("records that begin at an odd byte decode the same", () => {
  for (const kind of ["fp8", "int8", "bf16", "f16", "f32"] as const) {
    const encoding = rowEncoding(kind, 40);
    const records = Uint8Array.from({ length: 3 * encoding.recordBytes }, (_, i) => i * 37 & 127);
    const shifted = new Uint8Array(records.length + 1);
    shifted.set(records, 1);
    const straight = new Uint16Array(120);
    const odd = new Uint16Array(120);
    decodeRecords(encoding, records, straight);
    decodeRecords(encoding, shifted.subarray(1), odd);
    assert.deepEqual(odd, straight, kind);
    assert.ok(straight.some((bits) => bits !== 0), kind);
  }
});

Deno.test("record sizes: a short last group of values has its own scale", () => {
  const bytes = (kind: Parameters<typeof rowEncoding>[0], headDim: number) =>
    rowEncoding(kind, headDim).recordBytes;
  assert.equal(bytes("fp8", 256), 264);
  assert.equal(bytes("fp8", 33), 35);
  assert.equal(bytes("int8", 256), 288);
  assert.equal(bytes("int8", 1), 5);
  assert.deepEqual([bytes("bf16", 64), bytes("f16", 64), bytes("f32", 64)], [128, 128, 256]);
});

Deno.test("wrong sizes are refused", () => {
  const encoding = rowEncoding("fp8", 64);
  const decode = (bytes: number, values: number) =>
    decodeRecords(encoding, new Uint8Array(bytes), new Uint16Array(values));
  assert.throws(() => decode(65, 64), /found 65 bytes, wanted a multiple of 66/);
  assert.throws(() => decode(66, 63), /found room for 63 values, wanted 64/);
  for (const headDim of [0, -1, 1.5, NaN]) assert.throws(() => rowEncoding("fp8", headDim));
});
