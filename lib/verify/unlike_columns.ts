import type { ColumnStats } from "./column_stats.ts";

/** How far a column's distributions are from those of its neighbours. */
export interface ColumnDistance {
  /** The column. */
  readonly column: number;
  /** Total variation distance of its code histogram from its neighbours' together, 0 to 1. */
  readonly values: number;
  /** The same of its scale histogram; 0 without scales. */
  readonly scales: number;
  /** Whether it stands out: something was shifted or mixed up, or it was trained otherwise. */
  readonly unlike: boolean;
}

/** Fewer columns cannot say which of them is the odd one. */
const FEWEST_COLUMNS = 4;

/** A distance below this is no finding, however alike the others are. */
const LEAST_DISTANCE = 0.03;

/** How many times the typical distance a column must be away. */
const TIMES_TYPICAL = 4;

/** Compares the columns of one n-gram size with each other; few columns are not compared. */
export function columnDistances(columns: ReadonlyMap<number, ColumnStats>): ColumnDistance[] {
  if (columns.size < FEWEST_COLUMNS) return [];
  const entries = [...columns];
  const values = distances(entries.map(([, stats]) => stats.values));
  const scales = distances(entries.map(([, stats]) => stats.scales));
  const farValues = far(values);
  const farScales = far(scales);
  return entries.map(([column], i) => ({
    column,
    values: values[i],
    scales: scales[i],
    unlike: farValues(values[i]) || farScales(scales[i]),
  }));
}

/** Each histogram's total variation distance from the sum of the others. */
function distances(histograms: readonly (readonly number[])[]): number[] {
  const sum = new Array<number>(256).fill(0);
  for (const histogram of histograms) histogram.forEach((count, i) => sum[i] += count);
  const all = total(sum);
  return histograms.map((histogram) => {
    const own = total(histogram);
    const others = all - own;
    if (own === 0 || others === 0) return 0;
    let distance = 0;
    histogram.forEach((count, i) => distance += Math.abs(count / own - (sum[i] - count) / others));
    return distance / 2;
  });
}

function far(distances: readonly number[]): (distance: number) => boolean {
  const sorted = [...distances].sort((a, b) => a - b);
  // The lower median: with four columns one that is far away must not set the measure itself.
  const typical = sorted[Math.floor((sorted.length - 1) / 2)];
  return (distance) => distance > LEAST_DISTANCE && distance > TIMES_TYPICAL * typical;
}

function total(histogram: readonly number[]): number {
  return histogram.reduce((sum, count) => sum + count, 0);
}
