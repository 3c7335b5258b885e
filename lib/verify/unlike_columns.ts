import type { ColumnStats } from "./column_stats.ts";

/** How far a column's distributions are from those of its neighbours. */
export interface ColumnDistance {
  /** The column. */
  readonly column: number;
  /** Total variation distance of its code histogram from its neighbours' typical one, 0 to 1. */
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

/**
 * Each histogram's total variation distance from the typical one, whose bins are the medians of
 * all: one column that is far away does not drag it along.
 */
function distances(histograms: readonly (readonly number[])[]): number[] {
  const shares = histograms.map((histogram) => {
    const all = total(histogram);
    return all === 0 ? null : histogram.map((count) => count / all);
  });
  const counted = shares.filter((share) => share !== null);
  if (counted.length < FEWEST_COLUMNS) return histograms.map(() => 0);
  const typical = counted[0].map((_, bin) => median(counted.map((share) => share[bin])));
  const sum = total(typical);
  if (sum === 0) return histograms.map(() => 0);
  return shares.map((share) => {
    if (!share) return 0;
    const gaps = share.map((part, bin) => Math.abs(part - typical[bin] / sum));
    return total(gaps) / 2;
  });
}

function far(distances: readonly number[]): (distance: number) => boolean {
  const typical = median(distances);
  return (distance) => distance > LEAST_DISTANCE && distance > TIMES_TYPICAL * typical;
}

/** The lower median: with four columns one that is far away must not set the measure itself. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

function total(histogram: readonly number[]): number {
  return histogram.reduce((sum, count) => sum + count, 0);
}
