import { EngramError } from "../errors.ts";
import type { LayerLayout } from "../layout/layout.ts";
import { rankSpans, type RankSplit } from "../layout/rank_spans.ts";
import type { RowStore } from "../table/row_store.ts";
import type { Bf16, Kernels } from "./kernels.ts";
import { lookUpRows } from "./look_up_rows.ts";
import { gatherColumns, RankEmbedding } from "./rank_embedding.ts";

/** How a layer's rows are looked up. */
export interface LayerRows {
  /** Columns of the result: the layer's, or one rank's with its padding. */
  readonly columns: number;
  /** Values of a row. */
  readonly headDim: number;
  /** bf16 [tokens, columns, headDim] of ids [tokens, the layer's columns]. */
  lookup(ids: Int32Array): Promise<Bf16>;
  /** bf16 [ids.length, headDim] of row numbers; zeros for those the rank does not hold. */
  rows(ids: Float64Array): Promise<Bf16>;
}

/** A split over ranks, and the one rank of them that is wanted; all of them, gathered, without. */
export interface RankChoice extends RankSplit {
  /** The rank, from 0 below tp * dp. */
  readonly rank?: number;
}

/** Rows of the whole layer, read by one rank that holds it all. */
export function wholeRows(kernels: Kernels, store: RowStore, columns: number): LayerRows {
  return {
    columns,
    headDim: store.encoding.headDim,
    lookup: (ids) => lookUpRows(kernels, store, ids),
    rows: (ids) => lookUpRows(kernels, store, ids),
  };
}

/**
 * Rows as the ranks of a split look them up, each its own: one rank's share, or all shares
 * gathered, which gives what one rank that holds everything would.
 */
export function rankRows(
  kernels: Kernels,
  layer: LayerLayout,
  choice: RankChoice,
  storeOf: (rank: number) => { readonly store: RowStore; readonly whole: boolean },
): LayerRows {
  const spans = rankSpans(layer, choice);
  const total = layer.offsets.length;
  const { rank } = choice;
  if (rank !== undefined) {
    if (!(rank >= 0 && rank < spans.length)) {
      throw new EngramError(
        "usage",
        `Cannot look up for rank ${rank}: wanted 0 to ${spans.length - 1} of ${spans.length} ranks`,
      );
    }
    const rows = storeOf(rank);
    const embedding = new RankEmbedding(kernels, spans[rank], rows);
    return {
      columns: spans[rank].localColumns,
      headDim: rows.store.encoding.headDim,
      lookup: (ids) => embedding.lookup(ids, total),
      rows: (ids) => embedding.rows(ids),
    };
  }
  const ranks = spans.map((span) => new RankEmbedding(kernels, span, storeOf(span.rank)));
  const { headDim } = ranks[0];
  return {
    columns: total,
    headDim,
    async lookup(ids) {
      const parts: Bf16[] = [];
      for (const one of ranks) parts.push(await one.lookup(ids, total));
      return gatherColumns(spans, parts, total, headDim);
    },
    async rows(ids) {
      const out = new Uint16Array(ids.length * headDim);
      for (const one of ranks) {
        const part = await one.rows(ids);
        for (let i = 0; i < out.length; i++) out[i] |= part[i];
      }
      return out;
    },
  };
}
