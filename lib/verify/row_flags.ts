import type { RowEncoding } from "../checkpoint/row_encoding.ts";
import type { SimdKernels } from "../simd/simd.ts";

/** Every value of the row is zero, of either sign. */
export const ZERO_ROW = 1;
/** Every value of the row is the same, and not zero. */
export const EQUAL_ROW = 2;
/** Some value of the row is NaN or infinite. */
export const BAD_VALUE = 4;

/** Where the rows lie in a buffer, and how they are coded. */
export interface RowSpan {
  /** The encoding's name. */
  readonly kind: RowEncoding["kind"];
  /** Bytes from one row to the next. */
  readonly stride: number;
  /** Bytes of a row's codes, at the start of its stride. */
  readonly codeBytes: number;
}

/**
 * How a 32-bit word of codes is asked whether any of them is not finite: what is left of it under
 * `exponent` carries into `carry` on adding `one`, and into no neighbour.
 */
interface WordTest {
  readonly exponent: number;
  readonly one: number;
  readonly carry: number;
  /** Bytes of a value. */
  readonly width: number;
  /** Bits of a word that are not signs. */
  readonly magnitude: number;
}

const WORD_TESTS: Readonly<Record<RowEncoding["kind"], WordTest>> = {
  fp8: {
    exponent: 0x7f7f7f7f,
    one: 0x01010101,
    carry: 0x80808080 | 0,
    width: 1,
    magnitude: 0x7f7f7f7f,
  },
  int8: { exponent: 0, one: 0, carry: 0, width: 1, magnitude: -1 },
  bf16: {
    exponent: 0x7f807f80,
    one: 0x00800080,
    carry: 0x80008000 | 0,
    width: 2,
    magnitude: 0x7fff7fff,
  },
  f16: {
    exponent: 0x7c007c00,
    one: 0x04000400,
    carry: 0x80008000 | 0,
    width: 2,
    magnitude: 0x7fff7fff,
  },
  f32: {
    exponent: 0x7f800000,
    one: 0x00800000,
    carry: 0x80000000 | 0,
    width: 4,
    magnitude: 0x7fffffff,
  },
};

/**
 * Sets `flags[r]` for each of `rows` rows in `bytes`; returns how many flags are not 0.
 * Several bytes are looked at together, many GB/s on one core with `simd`, in whose memory `bytes`
 * and `flags` then lie; only rows that look odd are looked at again by value.
 */
export function flagRows(
  bytes: Uint8Array,
  span: RowSpan,
  rows: number,
  flags: Uint8Array,
  simd: SimdKernels | null = null,
): number {
  const { stride, codeBytes, kind } = span;
  const test = WORD_TESTS[kind];
  if (codeBytes % 4 !== 0) flags.fill(ODD, 0, rows);
  else if (simd) {
    const { exponent, one, carry } = test;
    const [at, to] = [bytes.byteOffset, flags.byteOffset];
    if (simd.lookAtRows(at, rows, stride, codeBytes, exponent, one, carry, to) === 0) return 0;
  } else if (stride % 4 === 0 && bytes.byteOffset % 4 === 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
    for (let row = 0; row < rows; row++) {
      flags[row] = lookAt(words, row * (stride / 4), codeBytes / 4, test);
    }
  } else flags.fill(ODD, 0, rows);
  let found = 0;
  for (let row = 0; row < rows; row++) {
    const look = flags[row];
    if (look === PLAIN) continue;
    // A row of one word over and over is what that word is: zero rows cost no second look.
    flags[row] = classify(bytes, row * stride, look === REPEATED ? 4 : codeBytes, test);
    if (flags[row] !== 0) found++;
  }
  return found;
}

/** Nothing odd; one word over and over; something that has to be looked at by value. */
const PLAIN = 0, REPEATED = 1, ODD = 2;

/** Whether a row may be zero, of one value, or hold a value that is not finite: the kernel's twin. */
function lookAt(words: Int32Array, start: number, length: number, test: WordTest): number {
  const { exponent, one, carry } = test;
  const first = words[start];
  let at = start;
  let bad = 0;
  let differs = 0;
  // Four words a round, the rest one by one. Zeros of both signs differ, so magnitudes count too.
  let magnitude = 0;
  for (const end = start + (length & ~3); at < end; at += 4) {
    const a = words[at], b = words[at + 1], c = words[at + 2], d = words[at + 3];
    const p = a & exponent, q = b & exponent, r = c & exponent, s = d & exponent;
    // The sums are cut to 32 bits one by one, else they would become floating point.
    bad |= ((p + one) | 0) | ((q + one) | 0) | ((r + one) | 0) | ((s + one) | 0);
    magnitude |= p | q | r | s;
    differs |= (a ^ first) | (b ^ first) | (c ^ first) | (d ^ first);
  }
  for (const end = start + length; at < end; at++) {
    const a = words[at], p = a & exponent;
    bad |= (p + one) | 0;
    magnitude |= p;
    differs |= a ^ first;
  }
  if (differs === 0) return REPEATED;
  return (bad & carry) !== 0 || (magnitude === 0 && exponent !== 0) ? ODD : PLAIN;
}

/** The flags of one row, value by value. */
function classify(bytes: Uint8Array, start: number, length: number, test: WordTest): number {
  const { width } = test;
  const exponent = test.exponent >>> (32 - 8 * width);
  const carry = test.carry >>> (32 - 8 * width);
  const one = test.one & (width === 4 ? -1 : (1 << (8 * width)) - 1);
  const magnitude = test.magnitude >>> (32 - 8 * width);
  const first = value(bytes, start, width);
  let zero = true, equal = true, bad = false;
  for (let at = start; at < start + length; at += width) {
    const v = value(bytes, at, width);
    if ((v & magnitude) !== 0) zero = false;
    if (v !== first) equal = false;
    if ((((v & exponent) + one) & carry) !== 0) bad = true;
  }
  return (zero ? ZERO_ROW : equal ? EQUAL_ROW : 0) | (bad ? BAD_VALUE : 0);
}

function value(bytes: Uint8Array, at: number, width: number): number {
  if (width === 1) return bytes[at];
  const low = bytes[at] | bytes[at + 1] << 8;
  return width === 2 ? low : low | bytes[at + 2] << 16 | bytes[at + 3] << 24;
}
