import type { Layout } from "../layout/layout.ts";
import { rankSpans } from "../layout/rank_spans.ts";

/**
 * Orders in which columns can be mistaken to stand: `order[i]` is the column that is found at
 * place i. Each is a permutation of 0 … columns - 1 other than the right one.
 */
export function columnOrders(
  { maxNgramSize, nHeads, columns }: Pick<Layout, "maxNgramSize" | "nHeads" | "columns">,
): { id: string; cause: string; order: number[] }[] {
  const sizes = maxNgramSize - 1;
  const found: { id: string; cause: string; order: number[] }[] = [];
  const add = (id: string, cause: string, order: number[]) => {
    const right = order.every((column, i) => column === i);
    const double = found.some((other) => other.order.every((column, i) => column === order[i]));
    if (!right && !double) found.push({ id, cause, order });
  };
  const headMajor = Array.from(
    { length: columns },
    (_, i) => (i % sizes) * nHeads + Math.floor(i / sizes),
  );
  add("head-major", "columns are in head-major order, wanted n-gram major", headMajor);
  for (let tp = 2; tp < columns; tp++) {
    // The ranks' results side by side, each holding every tp-th column, without the padding.
    const dealt = Array.from({ length: columns }, (_, i) => i)
      .sort((a, b) => a % tp - b % tp || a - b);
    const cause = `columns are dealt round ${tp} ranks (strided), wanted complete heads in a row`;
    add("strided", cause, dealt);
    const back = dealt.map((_, i) => dealt.indexOf(i));
    add("strided", `complete heads of ${tp} ranks are put back as if dealt round (strided)`, back);
  }
  return found;
}

/** First row of the rank that holds each column of a layer, with `tp` ranks by complete heads. */
export function rankBases(layer: Layout["layers"][number], tp: number): number[] {
  const bases: number[] = [];
  for (const { columns, rowStart } of rankSpans(layer, { tp })) {
    for (const column of columns) bases[column] = rowStart;
  }
  return bases;
}

/** Rank counts whose bases are not those of one column a rank. */
export function rankCounts(columns: number): number[] {
  return Array.from({ length: columns }, (_, i) => i + 2)
    .filter((tp) => Math.ceil(columns / tp) > 1);
}
