import { SCALE_GROUP } from "../checkpoint/row_encoding.ts";
import { narrowToBf16 } from "../table/bf16.ts";
import type { RowEncoding } from "../table/row_store.ts";

/** Encodings rows can be converted to. */
export type TargetKind = "int8" | "bf16" | "fp8";

/** Largest fp8 e4m3fn value, and the power of two it lies in. */
const FP8_MAX = 448;
const FP8_MAX_EXPONENT = 8;

/** Adding and taking this away rounds a double below 2^51 to the nearest even integer. */
const ROUNDER = 1.5 * 2 ** 52;

/**
 * Encodes float32 rows [rows, headDim] as records' codes [rows, codeBytes] and scales
 * [rows, scaleBytes], each value rounded once to nearest even.
 *
 * - `int8`: scale = largest magnitude of 32 values / 127 as float32, code = value / scale.
 * - `fp8`: scale = the least power of two by which the largest magnitude is at most 448.
 * - `bf16`: the values.
 *
 * Values that are no number or infinite do not count in a scale. int8 has no code for them: NaN
 * becomes 0 and an infinity the largest code of its sign. fp8 keeps NaN, and an infinity becomes the
 * largest value of its sign.
 */
export function encodeRows(
  { kind, headDim }: RowEncoding & { readonly kind: TargetKind | RowEncoding["kind"] },
  values: Float32Array,
  codes: Uint8Array,
  scales: Uint8Array,
): void {
  if (kind === "bf16") {
    narrowToBf16(values, new Uint16Array(codes.buffer, codes.byteOffset, values.length));
    return;
  }
  if (kind !== "int8" && kind !== "fp8") throw new Error(`no encoder of ${kind}`);
  const encode = kind === "int8" ? int8Group : fp8Group;
  const scaleView = new DataView(scales.buffer, scales.byteOffset, scales.byteLength);
  for (let row = 0, group = 0; row < values.length; row += headDim) {
    for (let from = row; from < row + headDim; from += SCALE_GROUP, group++) {
      encode(values, from, Math.min(from + SCALE_GROUP, row + headDim), codes, scaleView, group);
    }
  }
}

function largest(values: Float32Array, from: number, end: number): number {
  let most = 0;
  for (let i = from; i < end; i++) {
    const magnitude = Math.abs(values[i]);
    if (magnitude > most && magnitude !== Infinity) most = magnitude;
  }
  return most;
}

function int8Group(
  values: Float32Array,
  from: number,
  end: number,
  codes: Uint8Array,
  scales: DataView,
  group: number,
): void {
  const scale = Math.fround(largest(values, from, end) / 127);
  scales.setFloat32(4 * group, scale, true);
  for (let i = from; i < end; i++) {
    // Clamped first: only a scale that was rounded down far (a subnormal) lets a code pass 127.
    const code = Math.min(Math.max(values[i] / scale, -127), 127);
    // NaN: of a NaN value, and of 0 / 0 where all values are zero.
    codes[i] = code !== code ? 0 : (code + ROUNDER) - ROUNDER;
  }
}

function fp8Group(
  values: Float32Array,
  from: number,
  end: number,
  codes: Uint8Array,
  scales: DataView,
  group: number,
): void {
  const exponent = fp8Exponent(largest(values, from, end));
  scales.setUint8(group, exponent + 127);
  for (let i = from; i < end; i++) codes[i] = fp8Code(values[i] * 2 ** -exponent);
}

/** The least e, from -126 to 127, with `most` <= 448 * 2^e. */
function fp8Exponent(most: number): number {
  if (most === 0) return 0;
  let exponent = Math.floor(Math.log2(most)) - FP8_MAX_EXPONENT;
  // log2 rounds, so that it can be off by one near a power of two.
  while (most > FP8_MAX * 2 ** exponent) exponent++;
  while (most <= FP8_MAX * 2 ** (exponent - 1)) exponent--;
  return Math.min(Math.max(exponent, -126), 127);
}

/** The e4m3fn code nearest to `value`, ties to even; NaN is 0x7f. */
function fp8Code(value: number): number {
  if (value !== value) return 0x7f;
  const sign = value < 0 || Object.is(value, -0) ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(value), FP8_MAX);
  // Below 2^-6 the codes are 2^-9 apart; above, 8 to each power of two.
  const exponent = Math.max(Math.floor(Math.log2(magnitude)), -6);
  const step = 2 ** (exponent - 3);
  const mantissa = (magnitude / step + ROUNDER) - ROUNDER;
  // 16 carries into the exponent by itself.
  return sign | (mantissa < 8 ? mantissa : ((exponent + 7) << 3) + mantissa - 8);
}
