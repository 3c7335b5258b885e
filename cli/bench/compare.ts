import { medianSorted, quantileSorted } from "simple-statistics";
import type { BenchRecord, BenchResult } from "./record.ts";

/** What two runs of one case say of each other. */
export interface Comparison {
  /** The case, as {@linkcode caseName} spells it. */
  readonly name: string;
  /** Median of B over median of A: below 1, B is faster. */
  readonly ratio: number;
  /** 95 % interval of the ratio, from resampling both runs. */
  readonly interval: readonly [number, number];
  /** Whether B is faster or slower than A, or whether the samples do not say. */
  readonly verdict: "faster" | "slower" | "undecided";
}

/** Ratios nearer to 1 than this are called undecided whatever the interval: machines drift by more. */
export const DRIFT = 0.02;

const RESAMPLES = 2000;

/** Compares every case found in both records; cases of one alone are left out. */
export function compare(a: BenchRecord, b: BenchRecord): Comparison[] {
  const before = new Map(a.results.map((result) => [caseName(result), result]));
  const pairs: Comparison[] = [];
  for (const after of b.results) {
    const name = caseName(after);
    const match = before.get(name);
    if (match) pairs.push({ name, ...compareSamples(timesOf(match), timesOf(after)) });
  }
  return pairs;
}

/** A case's identity across records: name, variant and parameters. */
export function caseName(result: BenchResult): string {
  const parameters = Object.entries(result.parameters).map(([key, value]) => `${key}=${value}`);
  return [result.name, result.variant, ...parameters].join(" ");
}

function timesOf(result: BenchResult): number[] {
  return [...(result.gpuSamples?.length ? result.gpuSamples : result.samples)];
}

/** Bootstrap of the ratio of medians; seeded, so that the same records give the same verdict. */
export function compareSamples(a: number[], b: number[]): Omit<Comparison, "name"> {
  const random = xorshift(0x9e3779b9);
  const ratios = Array.from(
    { length: RESAMPLES },
    () => resampled(b, random) / resampled(a, random),
  )
    .sort((x, y) => x - y);
  const interval = [quantileSorted(ratios, 0.025), quantileSorted(ratios, 0.975)] as const;
  const ratio = median(b) / median(a);
  const verdict = interval[1] < 1 - DRIFT
    ? "faster"
    : interval[0] > 1 + DRIFT
    ? "slower"
    : "undecided";
  // Fewer than five samples a side cannot carry an interval.
  return { ratio, interval, verdict: Math.min(a.length, b.length) < 5 ? "undecided" : verdict };
}

function resampled(values: number[], random: () => number): number {
  return median(values.map(() => values[Math.floor(random() * values.length)]));
}

function median(values: number[]): number {
  return medianSorted([...values].sort((a, b) => a - b));
}

function xorshift(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
