import assert from "node:assert/strict";
import { buildLayout, type LayoutConfig } from "../../lib/layout/build_layout.ts";
import { rowLayout } from "../../lib/layout/row_layout.ts";

const GOOD: LayoutConfig = {
  where: "config.json",
  layerIds: [1, 14],
  maxNgramSize: 4,
  nHeads: 8,
  vocabSize: 16_000_000,
  compressedVocabSize: 99_092,
};

Deno.test("the size of the token map in hand must be the config's", () => {
  assert.equal(buildLayout(GOOD, 99_092).compressedVocabSize, 99_092);
  assert.throws(() => buildLayout(GOOD, 98_627), {
    name: "EngramError",
    kind: "mismatch",
    message: "Cannot lay out config.json: the token map has 98627 keys, " +
      "wanted 99092 (engram_compressed_vocab_size)",
  });
});

Deno.test("a config without the size takes the map's, and without both is refused", () => {
  const open = { ...GOOD, compressedVocabSize: null };
  assert.deepEqual(buildLayout(open, 99_092), buildLayout(GOOD));
  assert.throws(() => buildLayout(open), { name: "EngramError", kind: "malformed" });
});

Deno.test("where rows lie follows without any compressed size, and is the layout's", () => {
  const { compressedVocabSize: _size, ...rows } = GOOD;
  // The released tables' rows.
  assert.deepEqual(rowLayout(rows).layers.map((layer) => layer.rows), [384_006_168, 384_016_682]);
  const whole = buildLayout(GOOD);
  assert.deepEqual(rowLayout(rows), {
    maxNgramSize: 4,
    nHeads: 8,
    columns: 24,
    layers: whole.layers.map(({ multipliers: _, ...layer }) => layer),
  });
  assert.throws(() => rowLayout({ ...rows, numEmbeddings: [384_006_168, 384_016_681] }), {
    kind: "mismatch",
    message: "Cannot lay out config.json: engram_num_embeddings of layer 14 is 384016681, " +
      "but its 24 primes sum to 384016682",
  });
});

Deno.test("a config without layers has an empty layout", () => {
  assert.deepEqual(buildLayout({ ...GOOD, layerIds: [] }).layers, []);
});

const BAD: Partial<LayoutConfig>[] = [
  { layerIds: [-1] },
  { layerIds: [0.5] },
  { layerIds: [2 ** 31] },
  { maxNgramSize: 1 },
  { maxNgramSize: 65 },
  { maxNgramSize: 2.5 },
  { nHeads: 0 },
  { nHeads: 16_385 },
  { vocabSize: 0 },
  { vocabSize: -1 },
  { vocabSize: 2 ** 48 + 1 },
  { vocabSize: NaN },
  { compressedVocabSize: 0 },
  { compressedVocabSize: 2 ** 31 + 1 },
  { nHeads: 2731 },
];

for (const change of BAD) {
  Deno.test(`a config with ${JSON.stringify(change)} is refused with the number and its limits`, () => {
    assert.throws(() => buildLayout({ ...GOOD, ...change }), (error: Error) => {
      assert.equal(error.name, "EngramError");
      assert.match(error.message, /is -?[\d.NaN]+, wanted an integer from \d+ to \d+/);
      return true;
    });
  });
}

Deno.test("the sum of primes past 2^53 is refused, not rounded", () => {
  const wide = { ...GOOD, vocabSize: 2 ** 48, nHeads: 11 };
  assert.throws(() => buildLayout(wide), /the sum of layer 1's primes is 9\d{15}, wanted/);
});
