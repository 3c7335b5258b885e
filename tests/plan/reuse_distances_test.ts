import assert from "node:assert/strict";
import fc from "fast-check";
import { ReuseDistances } from "../../lib/plan/reuse_distances.ts";

/** Hits of a cache of `size` rows that drops the one used longest ago, played through. */
function playedHits(requests: readonly number[], size: number): number {
  const cache: number[] = [];
  let hits = 0;
  for (const row of requests) {
    const at = cache.indexOf(row);
    if (at >= 0) {
      hits++;
      cache.splice(at, 1);
    }
    cache.push(row);
    if (cache.length > size) cache.shift();
  }
  return hits;
}

Deno.test("every point of the curve is what a cache of that size would do", () => {
  const rows = fc.oneof(
    fc.integer({ min: 0, max: 8 }),
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 2 ** 40, max: 2 ** 40 + 30 }),
  );
  fc.assert(
    fc.property(fc.array(rows, { minLength: 1, maxLength: 500 }), (requests) => {
      const reuse = new ReuseDistances(128);
      requests.forEach((row) => reuse.add(row));
      assert.equal(reuse.share, 1);
      assert.equal(reuse.distinctRows, new Set(requests).size);
      const curve = reuse.hitRates();
      for (const { rows, hitRate } of curve) {
        assert.equal(hitRate, playedHits(requests, rows) / requests.length, `${rows} rows`);
      }
      assert.deepEqual(
        curve.slice(0, 3).map((point) => point.rows),
        [1, 2, 3].slice(0, curve.length),
      );
      assert.ok(curve.at(-1)!.rows >= new Set(requests).size);
    }),
    { numRuns: 200 },
  );
});

Deno.test("sizes are 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 … rows", () => {
  const reuse = new ReuseDistances();
  for (let row = 0; row < 20; row++) reuse.add(row);
  assert.deepEqual(
    reuse.hitRates().map(({ rows }) => rows),
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20],
  );
});

Deno.test("with far more rows than are followed the curve stays near, in constant memory", () => {
  let seed = 7;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  // Words with frequencies like a text's, each of 16 rows, as 8 heads of 2 layers make of an n-gram.
  const requests = Array.from({ length: 20_000 }, () => Math.floor(20_000 ** random()))
    .flatMap((word) => Array.from({ length: 16 }, (_, head) => head * 2 ** 26 + word));
  const [exact, sampled] = [new ReuseDistances(), new ReuseDistances(8192)];
  for (const row of requests) {
    exact.add(row);
    sampled.add(row);
  }
  assert.equal(exact.share, 1);
  assert.ok(sampled.share <= 1 / 8, `${sampled.share}`);
  const distinct = new Set(requests).size;
  assert.equal(exact.distinctRows, distinct);
  assert.ok(Math.abs(sampled.distinctRows / distinct - 1) < 0.1, `${sampled.distinctRows}`);
  const rateOf = new Map(exact.hitRates().map(({ rows, hitRate }) => [rows, hitRate]));
  for (const { rows, hitRate } of sampled.hitRates()) {
    const wanted = rateOf.get(rows);
    if (rows < 256 || wanted === undefined) continue;
    assert.ok(Math.abs(hitRate - wanted) < 0.05, `${rows} rows: ${hitRate}, wanted ${wanted}`);
  }
});

Deno.test("without requests there is no curve", () => {
  assert.deepEqual(new ReuseDistances().hitRates(), []);
});
