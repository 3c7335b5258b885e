import { badRow } from "./check_rows.ts";

/**
 * The order rows are read in: each asked-for row once, ascending, rows that lie side by side
 * together. Slot i of the plan is the i-th of the sorted ids; equal ids stand side by side.
 */
export interface RowPlan {
  /** The ids in ascending order, duplicates kept. */
  readonly sorted: Float64Array;
  /** Where each of them stands among the ids asked for. */
  readonly places: Int32Array;
}

/** Ids planned at once: with so many, an id below 2^31 and its place fit one double exactly. */
export const MAX_PLANNED = 2 ** 21;

/**
 * Plans the reading of `ids`, at most {@linkcode MAX_PLANNED}.
 *
 * @throws an `EngramError` naming the index of an id that is not an integer below `rows`.
 */
export function planRows(ids: Int32Array | Float64Array, rows: number, first = 0): RowPlan {
  const count = ids.length;
  const sorted = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const id = ids[i];
    if (!(id >= 0 && id < rows) || id % 1 !== 0) badRow(id, first + i, rows);
    sorted[i] = id * count + i;
  }
  // Typed arrays sort numerically and natively: far faster than sorting places by a comparison.
  sorted.sort();
  const places = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const id = Math.floor(sorted[i] / count);
    places[i] = sorted[i] - id * count;
    sorted[i] = id;
  }
  return { sorted, places };
}
