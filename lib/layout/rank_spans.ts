import { EngramError } from "../errors.ts";
import type { LayerRowLayout } from "./layout.ts";

/** Ways of splitting a table over ranks: complete heads in a row, heads dealt round, plain rows. */
export const SPLITS = ["heads", "strided", "rows"] as const;

/** One of {@linkcode SPLITS}. */
export type Split = typeof SPLITS[number];

/** What one rank holds of a layer's table. */
export interface RankSpan {
  /** The shard's number: tensor-parallel rank * dp + data-parallel rank. */
  readonly rank: number;
  /**
   * Columns the rank serves, ascending; may be empty. With split `rows` those its rows reach into,
   * the first and last perhaps only in part.
   */
  readonly columns: readonly number[];
  /**
   * Columns of the rank's result, padding at the end included; the same for every rank. With split
   * `rows` every column, since a rank's result is zeros where another holds the row.
   */
  readonly localColumns: number;
  /** Rows held as [start, end), ascending and merged where they touch; may be empty. */
  readonly ranges: readonly (readonly [start: number, end: number])[];
  /** First row held; with none, the table's rows. */
  readonly rowStart: number;
  /** End of the last row held; with none, the table's rows. */
  readonly rowEnd: number;
  /** Rows held: the sum of the ranges. */
  readonly rows: number;
}

/** Into how many ranks, and how. */
export interface RankSplit {
  /** Tensor-parallel ranks. */
  readonly tp: number;
  /** Data-parallel ranks each of them is split over again; 1 unless given. */
  readonly dp?: number;
  /** `heads` unless given. */
  readonly split?: Split;
}

/** More ranks than any cluster; keeps a mistyped number from filling memory. */
const MAX_RANKS = 65_536;

/**
 * Splits a layer's table over tp * dp ranks; every row of a column is held exactly once.
 * The last ranks may hold fewer columns or none.
 *
 * @throws an {@linkcode EngramError} of kind `usage` when a count is not an integer of 1 or more.
 *
 * @example
 * ```ts
 * import type { LayerRowLayout } from "./layout.ts";
 * import { rankSpans } from "./rank_spans.ts";
 *
 * function rowsOfRank(layer: LayerRowLayout, tp: number, rank: number): number {
 *   return rankSpans(layer, { tp })[rank].rows;
 * }
 * ```
 */
export function rankSpans(
  layer: LayerRowLayout,
  { tp, dp = 1, split = "heads" }: RankSplit,
): RankSpan[] {
  const ranks = tp * dp;
  for (const [name, count] of [["tp", tp], ["dp", dp], ["tp × dp", ranks]] as const) {
    if (!Number.isSafeInteger(count) || count < 1 || count > MAX_RANKS) {
      throw new EngramError(
        "usage",
        `Cannot split over ranks: ${name} is ${count}, wanted an integer from 1 to ${MAX_RANKS}`,
      );
    }
  }
  const make = split === "rows" ? rowSpan : columnSpan(split);
  return Array.from({ length: ranks }, (_, rank) => make(layer, rank, ranks));
}

function columnSpan(split: "heads" | "strided") {
  return (layer: LayerRowLayout, rank: number, ranks: number): RankSpan => {
    const total = layer.offsets.length;
    const localColumns = Math.ceil(total / ranks);
    const columns = Array.from(
      { length: localColumns },
      (_, i) => (split === "heads" ? rank * localColumns + i : rank + i * ranks),
    ).filter((column) => column < total);
    const ranges = merge(columns.map((column) => columnRows(layer, column)));
    return { rank, columns, localColumns, ...extent(ranges, layer.rows) };
  };
}

function rowSpan(layer: LayerRowLayout, rank: number, ranks: number): RankSpan {
  const each = Math.ceil(layer.rows / ranks);
  const start = Math.min(rank * each, layer.rows);
  const end = Math.min(start + each, layer.rows);
  const columns = layer.offsets.map((_, column) => column).filter((column) => {
    const [first, last] = columnRows(layer, column);
    return first < end && last > start;
  });
  const ranges: [number, number][] = start < end ? [[start, end]] : [];
  return { rank, columns, localColumns: layer.offsets.length, ...extent(ranges, layer.rows) };
}

function columnRows(layer: LayerRowLayout, column: number): [number, number] {
  return [layer.offsets[column], layer.offsets[column + 1] ?? layer.rows];
}

function merge(ranges: readonly [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [start, end] of ranges) {
    const last = merged.at(-1);
    if (last && last[1] === start) last[1] = end;
    else merged.push([start, end]);
  }
  return merged;
}

function extent(ranges: [number, number][], tableRows: number) {
  return {
    ranges,
    rowStart: ranges.at(0)?.[0] ?? tableRows,
    rowEnd: ranges.at(-1)?.[1] ?? tableRows,
    rows: ranges.reduce((sum, [start, end]) => sum + end - start, 0),
  };
}
