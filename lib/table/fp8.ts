import { toBf16 } from "./bf16.ts";

/** The value of an fp8 e4m3fn code: 1 sign, 4 exponent, 3 mantissa bits; 0x7f and 0xff are NaN. */
export function fp8Value(code: number): number {
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  if (exponent === 15 && mantissa === 7) return NaN;
  const magnitude = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

/**
 * The factor a ue8m0 byte stands for when it is put into a float32's exponent field, as the serving
 * kernel does: byte 0 is 0.0 (not 2^-127) and byte 255 is infinity (not NaN).
 */
export function ue8m0Value(byte: number): number {
  return byte === 0 ? 0 : byte === 255 ? Infinity : 2 ** (byte - 127);
}

let table: Uint16Array | undefined;

/** bf16 bits of every `code * scale`, at `scale * 256 + code`; any NaN is 0x7fff. Made once. */
export function fp8Products(): Uint16Array {
  if (table) return table;
  table = new Uint16Array(65536);
  for (let scale = 0; scale < 256; scale++) {
    const factor = ue8m0Value(scale);
    for (let code = 0; code < 256; code++) {
      // Four significant bits times a power of two: exact in float32, so this rounds once.
      table[scale * 256 + code] = toBf16(fp8Value(code) * factor);
    }
  }
  return table;
}
