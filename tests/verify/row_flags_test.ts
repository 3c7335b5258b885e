import assert from "node:assert/strict";
import fc from "fast-check";
import { BAD_VALUE, EQUAL_ROW, flagRows, ZERO_ROW } from "../../lib/verify/row_flags.ts";
import { ScanMemory } from "../../lib/verify/scan_memory.ts";

/** Each encoding's values as numbers, read the plain way. */
const VALUES = {
  fp8: (row: DataView) => each(row, 1, (at) => fp8(row.getUint8(at))),
  int8: (row: DataView) => each(row, 1, (at) => row.getInt8(at)),
  bf16: (row: DataView) => each(row, 2, (at) => bf16(row.getUint16(at, true))),
  f16: (row: DataView) => each(row, 2, (at) => row.getFloat16(at, true)),
  f32: (row: DataView) => each(row, 4, (at) => row.getFloat32(at, true)),
};

function each(row: DataView, width: number, value: (at: number) => number): number[] {
  return Array.from({ length: row.byteLength / width }, (_, i) => value(i * width));
}

function fp8(code: number): number {
  const exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent === 15 && mantissa === 7) return NaN;
  const size = exponent === 0 ? mantissa / 8 * 2 ** -6 : (1 + mantissa / 8) * 2 ** (exponent - 7);
  return code & 0x80 ? -size : size;
}

function bf16(bits: number): number {
  return new Float32Array(new Uint32Array([bits << 16]).buffer)[0];
}

/** The flags of a row by its values; a row is "equal" by its bytes, as NaN equals nothing. */
function oracle(kind: keyof typeof VALUES, bytes: Uint8Array, width: number): number {
  const row = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = VALUES[kind](row);
  const zero = values.every((value) => value === 0);
  const equal = bytes.every((byte, i) => byte === bytes[i % width]);
  const bad = values.some((value) => !Number.isFinite(value));
  return (zero ? ZERO_ROW : equal ? EQUAL_ROW : 0) | (bad ? BAD_VALUE : 0);
}

const WIDTHS = { fp8: 1, int8: 1, bf16: 2, f16: 2, f32: 4 };
const KINDS = Object.keys(WIDTHS) as (keyof typeof WIDTHS)[];

Deno.test("rows are flagged as their values say, whatever the encoding, width and stride", () => {
  const edge = fc.constantFrom(0, 0x7f, 0x80, 0xff, 0x7e, 0x7c, 0xfc, 1);
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.constantFrom(...KINDS),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 8 }),
      fc.array(
        fc.oneof(
          fc.record({ fill: edge }),
          fc.record({ fill: edge, at: fc.nat(), byte: edge }),
          fc.record({
            bytes: fc.array(fc.oneof(edge, fc.nat(255)), { minLength: 1, maxLength: 72 }),
          }),
        ),
        { minLength: 1, maxLength: 12 },
      ),
      (useSimd, kind, values, gap, rows) => {
        const codeBytes = values * WIDTHS[kind];
        const stride = codeBytes + gap;
        const { simd, codes: bytes, flags } = new ScanMemory(rows.length, stride, 0, useSimd);
        assert.equal(simd !== null, useSimd);
        bytes.fill(0xaa);
        rows.forEach((how, i) => {
          const row = bytes.subarray(i * stride, i * stride + codeBytes);
          if ("bytes" in how) row.forEach((_, j) => row[j] = how.bytes[j % how.bytes.length]);
          else row.fill(how.fill);
          if ("at" in how) row[how.at % row.length] = how.byte;
        });
        flags.fill(9);
        const found = flagRows(bytes, { kind, stride, codeBytes }, rows.length, flags, simd);
        const wanted = rows.map((_, i) =>
          oracle(kind, bytes.slice(i * stride, i * stride + codeBytes), WIDTHS[kind])
        );
        assert.deepEqual([...flags], wanted);
        assert.equal(found, wanted.filter((flag) => flag !== 0).length);
      },
    ),
    { numRuns: 2000 },
  );
});

for (const useSimd of [true, false]) {
  const by = useSimd ? "by SIMD" : "in JavaScript";
  Deno.test(`a NaN is found at every place of a row, and at none where there is none, ${by}`, () => {
    const { simd, codes, flags } = new ScanMemory(1, 256, 0, useSimd);
    const span = { kind: "fp8" as const, stride: 256, codeBytes: 256 };
    for (const code of [0x7f, 0xff]) {
      for (let at = 0; at < 256; at++) {
        codes.forEach((_, i) => codes[i] = i % 0x7f);
        codes[at] = code;
        flagRows(codes, span, 1, flags, simd);
        assert.equal(flags[0], BAD_VALUE, `${at}`);
      }
    }
    codes.forEach((_, code) => codes[code] = (code & 0x7f) === 0x7f ? 1 : code);
    assert.equal(flagRows(codes, span, 1, flags, simd), 0);
    assert.equal(flags[0], 0);
  });
}
