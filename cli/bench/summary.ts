import { medianAbsoluteDeviation, medianSorted } from "simple-statistics";
import type { BenchResult } from "./record.ts";

/** A case in a few numbers. */
export interface Summary {
  /** Median wall time, seconds. */
  readonly median: number | null;
  /** Median absolute deviation as a share of the median. */
  readonly spread: number;
  /** Median GPU time, seconds. */
  readonly gpuMedian: number | null;
  /** The time rates are taken from: GPU time where there is one, else wall time. */
  readonly seconds: number;
  readonly tokensPerSecond: number | null;
  readonly rowsPerSecond: number | null;
  readonly bytesPerSecond: number | null;
}

/** Medians and rates of one case. */
export function summarize(result: BenchResult): Summary {
  const wall = [...result.samples].sort((a, b) => a - b);
  const gpu = result.gpuSamples?.length ? [...result.gpuSamples].sort((a, b) => a - b) : null;
  const base = gpu ?? wall;
  const seconds = medianSorted(base);
  const rate = (amount: number | null) => amount === null ? null : amount / seconds;
  return {
    median: wall.length > 0 ? medianSorted(wall) : null,
    spread: medianAbsoluteDeviation(base) / seconds,
    gpuMedian: gpu && seconds,
    seconds,
    tokensPerSecond: rate(result.work.tokens),
    rowsPerSecond: rate(result.work.rows),
    bytesPerSecond: rate(result.work.bytes),
  };
}

/**
 * The ceiling `result` is held against: the one of its own record with the same kind of memory
 * (`parameters.of`), or none.
 */
export function ceilingOf(
  result: BenchResult,
  all: readonly BenchResult[],
): BenchResult | undefined {
  if (result.role === "ceiling") return undefined;
  return all.find((other) =>
    other.role === "ceiling" && other.parameters.of === result.parameters.of
  );
}

/** Parameters that are swept over: a baseline has those that change it. */
const SWEPT = ["tokens", "ids", "cache", "tp"] as const;

/** The baseline `result` is compared with: same name, and the same of every swept value it has. */
export function baselineOf(
  result: BenchResult,
  all: readonly BenchResult[],
): BenchResult | undefined {
  if (result.role !== "case") return undefined;
  return all.find((other) =>
    other.role === "baseline" && other.name === result.name &&
    SWEPT.every((key) =>
      other.parameters[key] === undefined || other.parameters[key] === result.parameters[key]
    )
  );
}

/** How many times as fast `result` is: by rows where both count them, by bytes, or by time alone. */
export function speedup(result: BenchResult, baseline: BenchResult): number {
  const [own, other] = [result.work, baseline.work];
  const unit = (["rows", "bytes"] as const).find((unit) => own[unit] && other[unit]);
  const work = unit ? own[unit]! / other[unit]! : 1;
  return work * summarize(baseline).seconds / summarize(result).seconds;
}
