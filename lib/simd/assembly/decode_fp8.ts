// AssemblyScript: fp8 rows to bf16, sixteen codes at a time. See ../simd.ts.

/** Values that share a scale. */
const GROUP: u32 = 32;

/**
 * Decodes `rows` records (`headDim` e4m3fn codes, then a ue8m0 byte for each 32 of them) at `records`
 * to bf16 bits [rows, headDim] at `out`, rounded to nearest even; any NaN is 0x7fff.
 */
export function decodeFp8(records: usize, rows: u32, headDim: u32, out: usize): void {
  for (let row: u32 = 0; row < rows; row++) {
    let scale = records + headDim;
    for (let first: u32 = 0; first < headDim; first += GROUP, scale++) {
      const from = records + first;
      const count = min(GROUP, headDim - first);
      const factor = <u32> load<u8>(scale);
      if (count < GROUP || factor < 10 || factor > 246) decodeEach(from, count, factor, out);
      else {
        const a = v128.load(from);
        const b = v128.load(from + 16);
        // What is added to the exponent, 2^7 a step: bf16's bias less fp8's, and the scale's own.
        const bias = i16x8.splat(<i16> ((<i32> factor - 7) << 7));
        if (areNormal(a, b)) {
          decodeNormal(a, bias, out);
          decodeNormal(b, bias, out + 32);
        } else if (hasNan(a) || hasNan(b)) decodeEach(from, count, factor, out);
        else {
          decodeSmall(a, bias, out);
          decodeSmall(b, bias, out + 32);
        }
      }
      out += count << 1;
    }
    records = scale;
  }
}

/** Whether all of 32 codes are normal numbers: their magnitudes from 8 to 126. */
function areNormal(a: v128, b: v128): bool {
  const mask = i8x16.splat(0x7f);
  const least = i8x16.splat(8);
  const past = i8x16.max_u(
    i8x16.sub(v128.and(a, mask), least),
    i8x16.sub(v128.and(b, mask), least),
  );
  return !v128.any_true(i8x16.ge_u(past, i8x16.splat(0x7f - 8)));
}

function hasNan(codes: v128): bool {
  const nan = i8x16.splat(0x7f);
  return v128.any_true(i8x16.eq(v128.and(codes, nan), nan));
}

/** Sixteen normal codes: exponent and mantissa as bf16 has them are the magnitude * 2^4. */
function decodeNormal(codes: v128, bias: v128, out: usize): void {
  const low = i16x8.shl(v128.and(codes, i8x16.splat(0x0f)), 4);
  const high = i16x8.shr_u(v128.and(codes, i8x16.splat(0x70)), 4);
  const signed = v128.or(high, v128.and(codes, i8x16.splat(-128)));
  v128.store(out, i16x8.add(firstOf(low, signed), bias));
  v128.store(out + 16, i16x8.add(lastOf(low, signed), bias));
}

/** Sixteen codes none of which is NaN: like {@link decodeNormal}, but for zeros and subnormals. */
function decodeSmall(codes: v128, bias: v128, out: usize): void {
  const magnitude = v128.and(codes, i8x16.splat(0x7f));
  const low = i16x8.shl(v128.and(codes, i8x16.splat(0x0f)), 4);
  const high = i16x8.shr_u(v128.and(codes, i8x16.splat(0x70)), 4);
  // Subnormal codes 1 … 7 are 2^-9 times the code: with exponents that fp8 has not, below zero.
  const subnormal = i8x16.lt_s(magnitude, i8x16.splat(8));
  const smallLow = i8x16(0, 0, -128, -64, 0, 32, 64, 96, 0, 0, 0, 0, 0, 0, 0, 0);
  const smallHigh = i8x16(0, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const lows = v128.bitselect(i8x16.swizzle(smallLow, magnitude), low, subnormal);
  const highs = v128.bitselect(i8x16.swizzle(smallHigh, magnitude), high, subnormal);
  // Signs go to the top bit: to flip it before the bias is added is to flip it afterwards.
  const signed = v128.xor(highs, v128.and(codes, i8x16.splat(-128)));
  // Zeros take no bias, but keep their sign.
  const some = i8x16.ne(magnitude, i8x16.splat(0));
  const kept = v128.or(some, i8x16.splat(-128));
  v128.store(out, v128.and(i16x8.add(firstOf(lows, signed), bias), firstOf(some, kept)));
  v128.store(out + 16, v128.and(i16x8.add(lastOf(lows, signed), bias), lastOf(some, kept)));
}

/** Bytes 0 … 7 of two vectors, taken in turn. */
function firstOf(low: v128, high: v128): v128 {
  return i8x16.shuffle(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/** Bytes 8 … 15 of two vectors, taken in turn. */
function lastOf(low: v128, high: v128): v128 {
  return i8x16.shuffle(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

function decodeEach(from: usize, count: u32, factor: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    store<u16>(out + (i << 1), decodeOne(load<u8>(from + i), factor));
  }
}

/** Any code with any scale: 0 stands for 0.0 and 255 for infinity. */
function decodeOne(code: u32, factor: u32): u16 {
  if ((code & 0x7f) == 0x7f) return 0x7fff;
  // The code's bits at the top of a float32 are its value times 2^-120.
  const value = reinterpret<f32>(((code & 0x80) << 24) | ((code & 0x7f) << 20)) *
    reinterpret<f32>(247 << 23);
  const bits = reinterpret<u32>(value * reinterpret<f32>(factor << 23));
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return <u16> ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
