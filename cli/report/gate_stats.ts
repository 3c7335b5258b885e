import type { Layout } from "../../lib/layout/layout.ts";
import { rankSpans, type RankSplit } from "../../lib/layout/rank_spans.ts";
import { type HitRate, ReuseDistances } from "../../lib/plan/reuse_distances.ts";

/** A recorded evaluation as flat arrays; see `GateRecord`. */
export interface Gates {
  readonly tokens: number;
  readonly layers: number;
  readonly copies: number;
  readonly columns: number;
  /** Compressed ids [tokens]. */
  readonly compressed: Int32Array;
  /** Bit 0: dead; bit 1: begins a request [tokens]. */
  readonly flags: Uint8Array;
  /** Gates times 65535 [tokens, layers, copies]. */
  readonly gates: Uint16Array;
  /** [tokens, layers, columns]. */
  readonly rows: Int32Array;
}

/** Mean gate over the copies [tokens, layers]. */
export function meanGates({ tokens, layers, copies, gates }: Gates): Float32Array {
  const means = new Float32Array(tokens * layers);
  for (let i = 0; i < means.length; i++) {
    let sum = 0;
    for (let copy = 0; copy < copies; copy++) sum += gates[i * copies + copy];
    means[i] = sum / copies / 65535;
  }
  return means;
}

/** An n-gram of compressed ids with the gates it opens. */
export interface StrongNgram {
  readonly n: number;
  /** A token that ends it. */
  readonly token: number;
  /** How often it occurs. */
  readonly count: number;
  /** Mean gate over its occurrences and the copies. */
  readonly gate: number;
}

/** The n-grams of each size with the highest mean gate in a layer. */
export function strongNgrams(
  gates: Gates,
  means: Float32Array,
  layer: number,
  maxNgramSize: number,
  most: number,
): StrongNgram[] {
  const { tokens, layers, compressed, flags } = gates;
  const strongest: StrongNgram[] = [];
  for (let n = 2; n <= maxNgramSize; n++) {
    const found = new Map<string, { token: number; count: number; sum: number }>();
    for (let token = 0, run = 0; token < tokens; token++) {
      // Tokens in a row without a dead one or the start of a request between.
      run = flags[token] & 1 ? 0 : flags[token] & 2 ? 1 : run + 1;
      if (run < n) continue;
      const key = compressed.subarray(token - n + 1, token + 1).join(" ");
      const entry = found.get(key);
      const gate = means[token * layers + layer];
      if (entry) {
        entry.count++;
        entry.sum += gate;
      } else found.set(key, { token, count: 1, sum: gate });
    }
    const ranked = [...found.values()]
      .map(({ token, count, sum }) => ({ n, token, count, gate: sum / count }))
      .sort((a, b) => b.gate - a.gate || b.count - a.count);
    strongest.push(...ranked.slice(0, most));
  }
  return strongest;
}

/** Distinct rows of each column [layers][columns]; every token asks every column for one row. */
export function distinctRows({ tokens, layers, columns, rows }: Gates): number[][] {
  const column = new Int32Array(tokens);
  return Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: columns }, (_, c) => {
      const first = layer * columns + c;
      for (let t = 0; t < tokens; t++) column[t] = rows[t * layers * columns + first];
      return countDistinct(column);
    }));
}

/** Sorts in place. */
function countDistinct(rows: Int32Array): number {
  rows.sort();
  let distinct = 0;
  for (let i = 0; i < rows.length; i++) if (i === 0 || rows[i] !== rows[i - 1]) distinct++;
  return distinct;
}

/** How often ranks are asked for rows. */
export interface RankLoad {
  readonly rank: number;
  readonly columns: number;
  /** Row requests over the text. */
  readonly requests: number;
  /** Distinct rows among them. */
  readonly distinct: number;
}

/** Row requests and distinct rows of each rank in a layer. */
export function rankLoads(
  gates: Gates,
  layout: Layout,
  layer: number,
  split: RankSplit,
): RankLoad[] {
  const { tokens, layers, columns, rows } = gates;
  return rankSpans(layout.layers[layer], split).map(({ rank, columns: own, ranges }) => {
    const asked = new Int32Array(tokens * own.length);
    let requests = 0;
    for (let t = 0; t < tokens; t++) {
      for (const column of own) {
        const row = rows[(t * layers + layer) * columns + column];
        if (ranges.some(([start, end]) => start <= row && row < end)) asked[requests++] = row;
      }
    }
    const distinct = countDistinct(asked.subarray(0, requests));
    return { rank, columns: own.length, requests, distinct };
  });
}

/** Hit rates of a row cache in front of one layer's table, by its size. */
export function hitCurve({ tokens, layers, columns, rows }: Gates, layer: number): HitRate[] {
  const reuse = new ReuseDistances();
  for (let t = 0; t < tokens; t++) {
    const first = (t * layers + layer) * columns;
    for (let c = 0; c < columns; c++) reuse.add(rows[first + c]);
  }
  return reuse.hitRates();
}
