import assert from "node:assert/strict";
import type { Random } from "./random.ts";

const VIEW = new DataView(new ArrayBuffer(8));

/** bf16 bits nearest to a double, ties to even, found by comparing with both neighbours. */
export function nearestBf16(value: number): number {
  if (Number.isNaN(value)) return 0x7fff;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  // The largest bf16 not above it, by bisection over the ordered bit patterns.
  let low = 0, high = 0x7f80;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (bf16Number(middle) <= magnitude) low = middle;
    else high = middle;
  }
  if (magnitude === Infinity) return sign | 0x7f80;
  const below = bf16Number(low);
  const above = high === 0x7f80 ? 2 ** 128 : bf16Number(high);
  const up = magnitude - below > above - magnitude ||
    (magnitude - below === above - magnitude && (low & 1) === 1);
  return sign | (up ? high : low);
}

/** The number of bf16 bits. */
export function bf16Number(bits: number): number {
  VIEW.setUint32(0, (bits << 16) >>> 0);
  return VIEW.getFloat32(0);
}

/** Random bf16 values of about the given size. */
export function randomBf16(random: Random, length: number, size = 1): Uint16Array {
  return Uint16Array.from({ length }, () => nearestBf16(Math.fround(random.normal() * size)));
}

export function isNaNBits(bits: number): boolean {
  return (bits & 0x7fff) > 0x7f80;
}

/** bf16 bits must be the same; any NaN is right for a NaN. */
export function assertSameBits(found: Uint16Array, wanted: ArrayLike<number>, what: string): void {
  assert.equal(found.length, wanted.length, `${what}: length`);
  for (let i = 0; i < found.length; i++) {
    if (found[i] !== wanted[i] && !(isNaNBits(found[i]) && isNaNBits(wanted[i]))) {
      assert.fail(`${what}: value ${i} is 0x${hex(found[i])}, wanted 0x${hex(wanted[i])}`);
    }
  }
}

/** What {@linkcode assertNearBf16} allows. */
export interface Nearness {
  /** Absolute slack for each value beyond one bf16 step: what float32 sums lose to cancellation. */
  readonly slack?: (i: number) => number;
  /** Values of every hundred that must be equal; 99 unless given. */
  readonly equalPercent?: number;
}

/** Each value within one bf16 step of the rounded double (or its slack), and 99 of 100 equal. */
export function assertNearBf16(
  found: Uint16Array,
  wanted: ArrayLike<number>,
  what: string,
  { slack, equalPercent = 99 }: Nearness = {},
): void {
  assert.equal(found.length, wanted.length, `${what}: length`);
  let equal = 0;
  for (let i = 0; i < found.length; i++) {
    const nearest = nearestBf16(wanted[i]);
    const steps = Math.abs(ordered(found[i]) - ordered(nearest));
    if (steps === 0) equal++;
    const near = steps <= 1 ||
      (slack && Math.abs(bf16Number(found[i]) - wanted[i]) <= slack(i));
    if (!near || isNaNBits(found[i])) {
      assert.fail(`${what}: value ${i} is ${bf16Number(found[i])}, wanted ${wanted[i]}`);
    }
  }
  // Of a handful, one may differ.
  const least = Math.min(found.length - 1, found.length * equalPercent / 100);
  assert.ok(equal >= least, `${what}: ${equal} of ${found.length} equal`);
}

/** bf16 bits as integers in the order of their values; both zeros are 0. */
function ordered(bits: number): number {
  return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}

function hex(bits: number): string {
  return bits.toString(16).padStart(4, "0");
}
