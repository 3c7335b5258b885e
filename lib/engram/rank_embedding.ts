import { EngramError } from "../errors.ts";
import type { RankSpan } from "../layout/rank_spans.ts";
import type { RowStore } from "../table/row_store.ts";
import type { Bf16, Kernels } from "./kernels.ts";
import { lookUpRows } from "./look_up_rows.ts";

/** Where a rank's rows are read. */
export interface RankRows {
  /** The rows. */
  readonly store: RowStore;
  /** Whether the store holds the whole table; else only the rank's rows, range after range. */
  readonly whole: boolean;
}

/** The embedding of one rank of tp × dp: the rows of its own columns, zeros for all others'. */
export class RankEmbedding {
  /** What the rank holds. */
  readonly span: RankSpan;
  readonly #kernels: Kernels;
  readonly #rows: RankRows;
  /** Values of a row. */
  readonly headDim: number;
  /** Row in the store of the first row of each range. */
  readonly #bases: readonly number[];

  /**
   * The embedding of the rank that holds `span`, whose rows are read from `rows`.
   *
   * @throws an {@linkcode EngramError} of kind `mismatch` where the store has too few rows for it.
   */
  constructor(kernels: Kernels, span: RankSpan, rows: RankRows) {
    this.span = span;
    this.#kernels = kernels;
    this.#rows = rows;
    this.headDim = rows.store.encoding.headDim;
    let held = 0;
    this.#bases = span.ranges.map(([start, end]) => {
      const base = rows.whole ? start : held;
      held += end - start;
      return base;
    });
    const least = rows.whole ? span.rows && span.rowEnd : span.rows;
    if (rows.store.rows >= least) return;
    throw new EngramError(
      "mismatch",
      `Cannot use ${rows.store.place} for rank ${span.rank}: it has ${rows.store.rows} rows, ` +
        `wanted ${least}`,
    );
  }

  /**
   * bf16 [tokens, localColumns, headDim] of ids [tokens, columns]. Ids the rank does not hold,
   * negative ones and padding columns give zeros.
   */
  async lookup(ids: Int32Array, columns: number): Promise<Bf16> {
    const { localColumns } = this.span;
    const tokens = ids.length / columns;
    const local = localColumnsOf(this.span, columns);
    const own = new Float64Array(tokens * localColumns).fill(-1);
    for (let token = 0; token < tokens; token++) {
      for (let j = 0; j < local.length; j++) {
        own[token * localColumns + j] = ids[token * columns + local[j]];
      }
    }
    return await this.rows(own);
  }

  /** bf16 [ids.length, headDim] of row numbers of the whole table; zeros where not held. */
  async rows(ids: Int32Array | Float64Array): Promise<Bf16> {
    const { headDim } = this.#rows.store.encoding;
    const held: number[] = [];
    const places: number[] = [];
    ids.forEach((id, place) => {
      const row = this.#find(id);
      if (row < 0) return;
      held.push(row);
      places.push(place);
    });
    const found = await lookUpRows(this.#kernels, this.#rows.store, Float64Array.from(held));
    const out = new Uint16Array(ids.length * headDim);
    places.forEach((place, i) => {
      out.set(found.subarray(i * headDim, (i + 1) * headDim), place * headDim);
    });
    return out;
  }

  /** Row of the store that holds `id`, or -1. */
  #find(id: number): number {
    const { ranges } = this.span;
    for (let i = 0; i < ranges.length; i++) {
      if (id >= ranges[i][0] && id < ranges[i][1]) return this.#bases[i] + id - ranges[i][0];
    }
    return -1;
  }
}

/** The column behind each place of a rank's result; padding places at the end have none. */
export function localColumnsOf(span: RankSpan, columns: number): readonly number[] {
  // A rank that serves every column, some only in part, has each at its own place.
  return span.localColumns === columns
    ? Array.from({ length: columns }, (_, c) => c)
    : span.columns;
}

/**
 * All ranks' results side by side, cut to `columns`: bf16 [tokens, columns, headDim] of each rank's
 * [tokens, localColumns, headDim]. Where ranks share a column, all but one have zeros in it.
 */
export function gatherColumns(
  spans: readonly RankSpan[],
  parts: readonly Bf16[],
  columns: number,
  headDim: number,
): Bf16 {
  const tokens = parts[0].length / (spans[0].localColumns * headDim);
  const out = new Uint16Array(tokens * columns * headDim);
  spans.forEach((span, rank) => {
    const part = parts[rank];
    const local = localColumnsOf(span, columns);
    for (let token = 0; token < tokens; token++) {
      for (let j = 0; j < local.length; j++) {
        const to = (token * columns + local[j]) * headDim;
        const from = (token * span.localColumns + j) * headDim;
        for (let i = 0; i < headDim; i++) out[to + i] |= part[from + i];
      }
    }
  });
  return out;
}
