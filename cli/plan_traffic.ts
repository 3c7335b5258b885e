import { breathe } from "../lib/bytes/breathe.ts";
import { NgramHasher } from "../lib/hash/ngram_hasher.ts";
import { StreamHasher } from "../lib/hash/stream_hasher.ts";
import type { Machines } from "../lib/plan/placements.ts";
import { ReuseDistances } from "../lib/plan/reuse_distances.ts";
import { RowTraffic, type TrafficReport } from "../lib/plan/row_traffic.ts";
import type { Context } from "./command.ts";
import { regroupTokens } from "./regroup_tokens.ts";
import type { TokenInput } from "./token_input.ts";

/** What a text asks of the tables. */
export interface PlanTraffic {
  /** Counted rows. */
  readonly traffic: TrafficReport;
  /** Requests of the text, to be read by distance. */
  readonly reuse: ReuseDistances;
}

/** Hashes all tokens of `input` and counts the rows they ask for, in one pass. */
export async function planTraffic(
  input: TokenInput,
  { tp, dp, batchTokens }: Machines,
  { signal }: Context,
): Promise<PlanTraffic> {
  const { layout, padId, map: { map } } = input;
  const hasher = new StreamHasher(new NgramHasher(layout, padId));
  const traffic = new RowTraffic(layout, tp, dp);
  const reuse = new ReuseDistances();
  // Rows of all layers are one numbering: a cache is shared by them.
  const firstRows = layout.layers.map((_, i) =>
    layout.layers.slice(0, i).reduce((sum, { rows }) => sum + rows, 0)
  );
  for await (const { tokenIds, dead, starts } of regroupTokens(input.chunks(), batchTokens)) {
    await breathe(signal);
    const rows = hasher.push(tokenIds.map((id) => map[id]), dead, starts);
    for (let at = 0; at < rows.length;) {
      for (const first of firstRows) {
        for (const end = at + layout.columns; at < end; at++) reuse.add(first + rows[at]);
      }
    }
    traffic.add(rows);
  }
  return { traffic: traffic.report(), reuse };
}
