import { EngramError } from "../errors.ts";
import type { LayerLayout, Layout } from "../layout/layout.ts";
import { rankSpans, type Split, SPLITS } from "../layout/rank_spans.ts";
import { RowBits } from "./row_bits.ts";

/** Rows asked of one holder. */
export interface RowCounts {
  /** Rows asked for, each as often as it was. */
  requests: number;
  /** Rows read when every batch reads a row once. */
  reads: number;
  /** Different rows over all batches. */
  distinct: number;
}

/** What a text asks of the tables, and of each rank for each way of splitting them. */
export interface TrafficReport {
  /** Tokens seen. */
  readonly tokens: number;
  /** By layer, in the layout's order. */
  readonly layers: readonly { readonly layerId: number; readonly counts: RowCounts }[];
  /** By split, then rank; summed over layers. */
  readonly ranks: Readonly<Record<Split, readonly RowCounts[]>>;
}

/** Counts the rows that batches of hashed tokens ask for. One bit of memory a row of the tables. */
export class RowTraffic {
  readonly #layout: Layout;
  readonly #layers: LayerTraffic[];
  readonly #ranks: number;
  #tokens = 0;

  /** Counts for tp * dp ranks. */
  constructor(layout: Layout, tp: number, dp = 1) {
    this.#layout = layout;
    this.#ranks = tp * dp;
    this.#layers = layout.layers.map((layer) => new LayerTraffic(layer, tp, dp));
  }

  /** Takes one batch: rows int32 [tokens, layers, columns], as hashing gives them. */
  add(rows: Int32Array): void {
    const { columns, layers } = this.#layout;
    const width = layers.length * columns;
    const tokens = rows.length / width;
    if (!Number.isInteger(tokens)) {
      throw new EngramError(
        "usage",
        `Cannot count rows: found ${rows.length} ids, wanted a multiple of ${width}`,
      );
    }
    this.#tokens += tokens;
    const column = new Int32Array(tokens);
    for (let layer = 0; layer < layers.length; layer++) {
      for (let c = 0; c < columns; c++) {
        for (let token = 0, at = layer * columns + c; token < tokens; token++, at += width) {
          column[token] = rows[at];
        }
        this.#layers[layer].add(c, column);
      }
    }
  }

  /** What was counted so far. */
  report(): TrafficReport {
    const ranks = Object.fromEntries(SPLITS.map((split) => [
      split,
      Array.from(
        { length: this.#ranks },
        (_, rank) => sum(this.#layers.map((layer) => layer.ranks[split][rank])),
      ),
    ])) as Record<Split, RowCounts[]>;
    return {
      tokens: this.#tokens,
      layers: this.#layout.layers.map(({ layerId }, i) => ({
        layerId,
        counts: sum(this.#layers[i].ranks.heads),
      })),
      ranks,
    };
  }
}

class LayerTraffic {
  readonly ranks: Record<Split, RowCounts[]>;
  readonly #seen = new RowBits();
  /** The rank that holds each column, of the splits by column. */
  readonly #owner: Record<"heads" | "strided", Int32Array>;
  readonly #rowsEach: number;

  constructor(layer: LayerLayout, tp: number, dp: number) {
    this.ranks = Object.fromEntries(
      SPLITS.map((split) => [split, Array.from({ length: tp * dp }, none)]),
    ) as Record<Split, RowCounts[]>;
    const owners = (split: "heads" | "strided") => {
      const owner = new Int32Array(layer.offsets.length);
      for (const { rank, columns } of rankSpans(layer, { tp, dp, split })) {
        for (const column of columns) owner[column] = rank;
      }
      return owner;
    };
    this.#owner = { heads: owners("heads"), strided: owners("strided") };
    this.#rowsEach = rankSpans(layer, { tp, dp, split: "rows" })[0].rows;
  }

  /** Takes one column's rows of a batch; their order is lost. */
  add(column: number, rows: Int32Array): void {
    rows.sort();
    const { heads, strided, rows: plain } = this.ranks;
    const columnCounts = none();
    for (let from = 0; from < rows.length;) {
      const row = rows[from];
      let end = from + 1;
      while (end < rows.length && rows[end] === row) end++;
      const isNew = this.#seen.add(row) ? 1 : 0;
      const holder = plain[Math.floor(row / this.#rowsEach)];
      for (const counts of [columnCounts, holder]) {
        counts.requests += end - from;
        counts.reads++;
        counts.distinct += isNew;
      }
      from = end;
    }
    for (const holder of [heads[this.#owner.heads[column]], strided[this.#owner.strided[column]]]) {
      holder.requests += columnCounts.requests;
      holder.reads += columnCounts.reads;
      holder.distinct += columnCounts.distinct;
    }
  }
}

function none(): RowCounts {
  return { requests: 0, reads: 0, distinct: 0 };
}

function sum(counts: readonly RowCounts[]): RowCounts {
  const total = none();
  for (const { requests, reads, distinct } of counts) {
    total.requests += requests;
    total.reads += reads;
    total.distinct += distinct;
  }
  return total;
}
