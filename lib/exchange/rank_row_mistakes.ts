import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import type { Layout } from "../layout/layout.ts";
import { type RankSpan, rankSpans, type RankSplit, SPLITS } from "../layout/rank_spans.ts";
import { layerPart, type RowMistake } from "./row_mistakes.ts";
import { readRows } from "./row_reader.ts";

/** One rank of a split. */
export interface RankOfSplit extends RankSplit {
  /** The rank, from 0 below tp * dp. */
  readonly rank: number;
}

/** The columns of a layer that a rank's result holds; -1 for the padding at its end. */
export function rankColumns({ columns, localColumns }: RankSpan): number[] {
  return Array.from({ length: localColumns }, (_, i) => columns[i] ?? -1);
}

/** Row numbers [tokens, columns] of some columns only; -1 for padding, which is no row. */
export function pickColumns(
  ids: Float64Array,
  columns: number,
  picked: readonly number[],
): Float64Array {
  const tokens = ids.length / columns;
  return Float64Array.from({ length: tokens * picked.length }, (_, i) => {
    const column = picked[i % picked.length];
    return column < 0 ? -1 : ids[Math.floor(i / picked.length) * columns + column];
  });
}

/** Known mistakes of one rank's lookup; `ids` are right, [tokens, layers, columns]. */
export function* rankRowMistakes(
  layout: Layout,
  layers: readonly EngramLayer[],
  index: number,
  ids: Float64Array,
  choice: RankOfSplit,
): Generator<RowMistake> {
  const { rank, split = "heads" } = choice;
  const own = layerPart(ids, index, layout);
  const layer = layers[index];
  const spans = rankSpans(layout.layers[index], choice);
  const span = spans[rank];
  const held = pickColumns(own, layout.columns, rankColumns(span));
  const read = (id: string, cause: string, rows: Float64Array): RowMistake => ({
    id,
    cause,
    rows: () => readRows(layer, rows),
  });
  for (const way of SPLITS) {
    if (way === split || way === "rows" || split === "rows") continue;
    const other = rankSpans(layout.layers[index], { ...choice, split: way })[rank];
    const picked = pickColumns(own, layout.columns, rankColumns(other));
    yield read("strided", `the rank's columns are those split by ${way}, wanted ${split}`, picked);
  }
  if (split !== "rows") {
    for (const other of spans) {
      // A rank without columns gives zeros, which say nothing.
      if (other.rank === rank || other.rows === 0) continue;
      const picked = pickColumns(own, layout.columns, rankColumns(other));
      yield read("rank-other", `the result is that of rank ${other.rank}`, picked);
    }
  }
  if (span.rowStart === 0) return;
  const { rowStart, rows } = span;
  yield read(
    "rank-base",
    "the rank's first row is not added: rows are read from the table's start on",
    held.map((id) => (id < 0 ? -1 : id - rowStart)),
  );
  yield read(
    "rank-base",
    "the rank's first row is not taken away: row numbers of the table are looked for in the shard",
    held.map((id) => (id >= 0 && id < rows ? id + rowStart : -1)),
  );
}
