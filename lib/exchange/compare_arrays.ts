import { breathe } from "../bytes/breathe.ts";
import { EngramError } from "../errors.ts";
import type { DumpArray } from "./dump.ts";

/** How an engine's array differs from ours. */
export interface ArrayDifference {
  /** The array's name. */
  readonly name: string;
  /** Shape expected. */
  readonly expectedShape: readonly number[];
  /** Shape found. */
  readonly actualShape: readonly number[];
  /** Values compared: those both have. */
  readonly compared: number;
  /** Values that differ. */
  readonly different: number;
  /** Entries of the first dimension (tokens) that hold a difference. */
  readonly differentTokens: number;
  /** Where the first difference is, as an index in each dimension; null where there is none. */
  readonly first: readonly number[] | null;
  /** The value expected there. */
  readonly expected: number | null;
  /** The value found there. */
  readonly actual: number | null;
  /** Largest difference of two finite values. */
  readonly largest: number;
}

/** Values compared at once. */
const CHUNK = 1 << 18;

/**
 * Compares two arrays value by value, in constant memory. NaN equals NaN, and 0 equals -0.
 *
 * @param tolerance Difference allowed, relative to the largest magnitude expected in the same entry
 * of the first dimension; 0 compares exactly.
 */
export async function compareArrays(
  expected: DumpArray,
  actual: DumpArray,
  tolerance: number,
  signal?: AbortSignal,
): Promise<ArrayDifference> {
  const [tokens = 1, ...rest] = expected.shape;
  const [found = 1, ...foundRest] = actual.shape;
  const size = sizeOf(rest);
  const sameRest = sizeOf(foundRest) === size;
  // With entries of another size nothing lines up, unless the whole is as large.
  const total = sizeOf(expected.shape);
  const common = sameRest
    ? Math.min(tokens, found) * size
    : sizeOf(actual.shape) === total
    ? total
    : 0;
  const result = {
    compared: common,
    different: 0,
    differentTokens: 0,
    first: -1,
    expected: null as number | null,
    actual: null as number | null,
    largest: 0,
  };
  const step = Math.max(1, Math.floor(CHUNK / Math.max(size, 1))) * size;
  for (let at = 0; at < common; at += step) {
    await breathe();
    if (signal?.aborted) throw new EngramError("interrupted", "Interrupted");
    const count = Math.min(step, common - at);
    const ours = await expected.read(at, count);
    const theirs = await actual.read(at, count);
    for (let entry = 0; entry < count; entry += size) {
      const allowed = tolerance === 0 ? 0 : tolerance * largest(ours, entry, entry + size);
      const before = result.different;
      for (let i = entry; i < entry + size; i++) {
        const error = Math.abs(ours[i] - theirs[i]);
        if (
          error <= allowed || ours[i] === theirs[i] ||
          (ours[i] !== ours[i] && theirs[i] !== theirs[i])
        ) {
          continue;
        }
        if (result.different++ === 0) {
          Object.assign(result, { first: at + i, expected: ours[i], actual: theirs[i] });
        }
        if (error > result.largest && error < Infinity) result.largest = error;
      }
      if (result.different > before) result.differentTokens++;
    }
  }
  return {
    ...result,
    name: expected.name,
    expectedShape: expected.shape,
    actualShape: actual.shape,
    first: result.first < 0 ? null : indexOf(result.first, expected.shape),
  };
}

/** Whether anything differs, sizes too. */
export function differs({ different, expectedShape, actualShape }: ArrayDifference): boolean {
  return different > 0 || sizeOf(expectedShape) !== sizeOf(actualShape);
}

function indexOf(flat: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  for (const size of shape.toReversed()) {
    index.unshift(flat % size);
    flat = Math.floor(flat / size);
  }
  return index;
}

function largest(values: Float64Array, from: number, end: number): number {
  let most = 0;
  for (let i = from; i < end; i++) {
    const magnitude = Math.abs(values[i]);
    if (magnitude > most && magnitude < Infinity) most = magnitude;
  }
  return most;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}
