import assert from "node:assert/strict";
import fc from "fast-check";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { LayerLayout } from "../../lib/layout/layout.ts";
import { rankSpans, type RankSplit, SPLITS } from "../../lib/layout/rank_spans.ts";

function layerOf(maxNgramSize: number, nHeads: number, vocabSize: number): LayerLayout {
  return buildLayout({
    where: "test",
    layerIds: [1],
    maxNgramSize,
    nHeads,
    vocabSize,
    compressedVocabSize: 99_092,
  }).layers[0];
}

/** The first layer of the released model: 24 columns. */
const released = layerOf(4, 8, 16_000_000);
/** Six columns: 67, 71, 73, 79, 83, 89 rows. */
const small = layerOf(4, 2, 64);

Deno.test("complete heads over four ranks, as the serving engine splits the released layer", () => {
  const spans = rankSpans(released, { tp: 4 });
  assert.deepEqual(spans.map((span) => span.columns.length), [6, 6, 6, 6]);
  assert.deepEqual(spans.map((span) => span.columns[0]), [0, 6, 12, 18]);
  // Offsets of columns 0, 6, 12 and 18 of the released layout, and its rows.
  assert.deepEqual(spans.map((span) => span.rowStart), [0, 96000564, 192001740, 288003654]);
  assert.deepEqual(spans.map((span) => span.rowEnd), [96000564, 192001740, 288003654, 384006168]);
});

Deno.test("columns that do not divide: the last ranks hold fewer or none", () => {
  const spans = rankSpans(small, { tp: 4 });
  assert.deepEqual(spans.map((span) => span.columns), [[0, 1], [2, 3], [4, 5], []]);
  assert.deepEqual(spans.map((span) => span.localColumns), [2, 2, 2, 2]);
  assert.deepEqual(spans[1].ranges, [[138, 290]]);
  const { rowStart, rowEnd, rows, ranges } = spans[3];
  assert.deepEqual({ rowStart, rowEnd, rows, ranges }, {
    rowStart: 462,
    rowEnd: 462,
    rows: 0,
    ranges: [],
  });
  const five = rankSpans(small, { tp: 5 });
  assert.deepEqual(five.map((span) => span.columns), [[0, 1], [2, 3], [4, 5], [], []]);
});

Deno.test("strided: column c to rank c mod tp, in ranges of their own", () => {
  const spans = rankSpans(small, { tp: 4, split: "strided" });
  assert.deepEqual(spans.map((span) => span.columns), [[0, 4], [1, 5], [2], [3]]);
  assert.deepEqual(spans.map((span) => span.localColumns), [2, 2, 2, 2]);
  assert.deepEqual(spans[0].ranges, [[0, 67], [290, 373]]);
  assert.deepEqual([spans[0].rowStart, spans[0].rowEnd, spans[0].rows], [0, 373, 150]);
  const one = rankSpans(small, { tp: 1, split: "strided" });
  assert.deepEqual(one[0].ranges, [[0, 462]], "columns that touch are one range");
});

Deno.test("plain rows: equal shares, the last one shorter", () => {
  const spans = rankSpans(small, { tp: 4, split: "rows" });
  assert.deepEqual(spans.map((span) => span.ranges), [
    [[0, 116]],
    [[116, 232]],
    [[232, 348]],
    [[348, 462]],
  ]);
  assert.deepEqual(spans.map((span) => span.columns), [[0, 1], [1, 2, 3], [3, 4], [4, 5]]);
  assert.deepEqual(spans.map((span) => span.localColumns), [6, 6, 6, 6]);
});

Deno.test("data parallel: shard tp_rank * dp + dp_rank of tp * dp", () => {
  const spans = rankSpans(released, { tp: 4, dp: 3 });
  assert.deepEqual(spans.map((span) => span.rank), [...Array(12).keys()]);
  assert.deepEqual(spans.map((span) => [...span.columns]), [
    ...Array.from({ length: 12 }, (_, i) => [2 * i, 2 * i + 1]),
  ]);
});

Deno.test("more ranks than columns, or than rows", () => {
  const one = layerOf(2, 1, 2);
  assert.equal(one.rows, 2);
  for (const split of SPLITS) {
    const spans = rankSpans(one, { tp: 3, split });
    assert.deepEqual(
      spans.flatMap((span) => span.ranges.flat()),
      split === "rows" ? [0, 1, 1, 2] : [0, 2],
    );
    assert.deepEqual([spans[2].rowStart, spans[2].rowEnd, spans[2].rows], [2, 2, 0]);
  }
});

Deno.test("every row is held exactly once, and a rank's columns are those its rows lie in", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 3000 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(...SPLITS),
      (maxNgramSize, nHeads, vocabSize, tp, dp, split) => {
        const layer = layerOf(maxNgramSize, nHeads, vocabSize);
        const spans = rankSpans(layer, { tp, dp, split });
        assert.equal(spans.length, tp * dp);
        const ranges = spans.flatMap((span) => span.ranges).sort((a, b) => a[0] - b[0]);
        let end = 0;
        for (const [from, to] of ranges) {
          assert.equal(from, end);
          assert.ok(to > from);
          end = to;
        }
        assert.equal(end, layer.rows);
        const primes = layer.primes.flat();
        for (const span of spans) {
          assert.equal(span.rows, span.ranges.reduce((sum, [from, to]) => sum + to - from, 0));
          assert.ok(span.columns.length <= span.localColumns);
          if (split === "rows") continue;
          const held = span.columns.reduce((sum, column) => sum + primes[column], 0);
          assert.equal(span.rows, held);
        }
      },
    ),
    { numRuns: 200, seed: 8 },
  );
});

Deno.test("tables past 2^31 and 2^32 rows keep exact spans", () => {
  const layer = layerOf(2, 4, 2 ** 31);
  const spans = rankSpans(layer, { tp: 4 });
  assert.equal(layer.primes.flat()[0], 2147483659);
  assert.equal(spans[3].rowEnd, layer.rows);
  assert.equal(spans[2].rowStart, layer.primes[0][0] + layer.primes[0][1]);
  assert.ok(layer.rows > 2 ** 33);
});

for (
  const counts of [{ tp: 0 }, { tp: -1 }, { tp: 1.5 }, { tp: NaN }, { tp: 2, dp: 0 }, {
    tp: 2 ** 17,
  }]
) {
  Deno.test(`ranks ${JSON.stringify(counts)} are refused`, () => {
    assert.throws(() => rankSpans(small, counts as RankSplit), {
      name: "EngramError",
      kind: "usage",
    });
  });
}
