import { toBf16 } from "./bf16.ts";

/** The value of IEEE half precision bits. */
export function f16Value(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  const magnitude = exponent === 0
    ? mantissa * 2 ** -24
    : exponent === 31
    ? (mantissa ? NaN : Infinity)
    : (1024 + mantissa) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

let table: Uint16Array | undefined;

/** bf16 bits, rounded to nearest even, of every half precision value. Made once. */
export function f16AsBf16(): Uint16Array {
  table ??= Uint16Array.from({ length: 65536 }, (_, bits) => toBf16(f16Value(bits)));
  return table;
}
