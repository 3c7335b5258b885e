import assert from "node:assert/strict";
import fc from "fast-check";
import { SPLITS } from "../../lib/layout/rank_spans.ts";
import { RowTraffic } from "../../lib/plan/row_traffic.ts";

/** Two layers of six columns: layer 3's primes are the larger ones. */
const PRIMES = [[5, 7, 11, 13, 17, 19], [23, 29, 31, 37, 41, 43]];
const LAYOUT = {
  maxNgramSize: 4,
  nHeads: 2,
  columns: 6,
  compressedVocabSize: 100,
  layers: PRIMES.map((primes, i) => ({
    layerId: 1 + 2 * i,
    primes: [primes.slice(0, 2), primes.slice(2, 4), primes.slice(4)],
    offsets: starts(primes),
    multipliers: [],
    rows: primes.reduce((a, b) => a + b, 0),
  })),
};

function starts(primes: number[]): number[] {
  return primes.map((_, c) => primes.slice(0, c).reduce((a, b) => a + b, 0));
}

/** The rank that holds a row, by the serving engine's rule. */
function holder(split: string, layer: number, column: number, row: number, ranks: number): number {
  const total = PRIMES[layer].reduce((a, b) => a + b, 0);
  if (split === "heads") return Math.floor(column / Math.ceil(6 / ranks));
  if (split === "strided") return column % ranks;
  return Math.floor(row / Math.ceil(total / ranks));
}

Deno.test("requests, reads and different rows of every rank are counted right", () => {
  const token = fc.tuple(
    ...PRIMES.flatMap((primes) => {
      const first = starts(primes);
      return primes.map((prime, c) =>
        fc.integer({ min: 0, max: prime - 1 }).map((id) => first[c] + id)
      );
    }),
  );
  const batches = fc.array(fc.array(token, { maxLength: 12 }), { maxLength: 5 });
  const counts = fc.integer({ min: 1, max: 4 });
  fc.assert(fc.property(batches, counts, counts, (list, tp, dp) => {
    const ranks = tp * dp;
    const traffic = new RowTraffic(LAYOUT, tp, dp);
    for (const batch of list) traffic.add(Int32Array.from(batch.flat()));
    const report = traffic.report();
    assert.equal(report.tokens, list.flat().length);
    for (const split of SPLITS) {
      for (let rank = 0; rank < ranks; rank++) {
        let [requests, reads] = [0, 0];
        const ever = new Set<string>();
        for (const batch of list) {
          const once = new Set<string>();
          for (const rows of batch) {
            rows.forEach((row, at) => {
              const [layer, column] = [Math.floor(at / 6), at % 6];
              if (holder(split, layer, column, row, ranks) !== rank) return;
              requests++;
              once.add(`${layer} ${row}`);
              ever.add(`${layer} ${row}`);
            });
          }
          reads += once.size;
        }
        assert.deepEqual(report.ranks[split][rank], { requests, reads, distinct: ever.size });
      }
    }
    report.layers.forEach(({ layerId, counts }, i) => {
      assert.equal(layerId, LAYOUT.layers[i].layerId);
      assert.equal(counts.requests, 6 * list.flat().length);
      const own = new Set(list.flat().flatMap((rows) => rows.slice(6 * i, 6 * i + 6)));
      assert.equal(counts.distinct, own.size);
    });
  }));
});

Deno.test("ids that are not whole tokens are refused", () => {
  assert.throws(() => new RowTraffic(LAYOUT, 1).add(new Int32Array(13)), /a multiple of 12/);
});
