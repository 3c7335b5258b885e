import assert from "node:assert/strict";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { drawPrimes } from "../../lib/layout/draw_primes.ts";
import { multipliers } from "../../lib/layout/multipliers.ts";
import { goldenJson } from "../golden/golden_data.ts";

interface Summary {
  // Compressed sizes past 2^53 must be read as text.
  multipliers: {
    layer_ids: number[];
    max_ngram_size: number;
    compressed_vocab_size: number;
    multipliers: string[][];
  }[];
  layouts: {
    n_layers: number;
    max_ngram_size: number;
    n_heads: number;
    engram_vocab_size: number;
    primes: number[][][];
    num_embeddings: number[];
  }[];
}

const summary = goldenJson<Summary>("summary.json");

for (const [i, wanted] of summary.multipliers.entries()) {
  Deno.test(`multipliers equal numpy's: golden case ${i}, ${wanted.compressed_vocab_size} keys`, () => {
    // Powers of two are exact as numbers, so the one size past 2^53 is as well.
    const size = BigInt(wanted.compressed_vocab_size);
    const found = wanted.layer_ids.map((id) => multipliers(id, wanted.max_ngram_size, size));
    assert.deepEqual(found.map((row) => row.map(String)), wanted.multipliers);
  });
}

for (const wanted of summary.layouts) {
  const { n_layers, max_ngram_size, n_heads, engram_vocab_size } = wanted;
  Deno.test(`primes of ${n_layers} layers × ${n_heads} heads above ${engram_vocab_size}`, () => {
    const primes = drawPrimes(n_layers, max_ngram_size, n_heads, engram_vocab_size);
    assert.deepEqual(primes, wanted.primes);
    const layout = buildLayout({
      where: "golden",
      layerIds: primes.map((_, i) => i),
      maxNgramSize: max_ngram_size,
      nHeads: n_heads,
      vocabSize: engram_vocab_size,
      compressedVocabSize: 10,
    });
    assert.deepEqual(layout.layers.map((layer) => layer.rows), wanted.num_embeddings);
  });
}

Deno.test("the released layout", () => {
  const released = goldenJson<
    { primes: number[][][]; offsets: number[][]; multipliers: string[][] }
  >("released.json");
  const layout = buildLayout({
    where: "released",
    layerIds: [1, 14],
    maxNgramSize: 4,
    nHeads: 8,
    vocabSize: 16_000_000,
    compressedVocabSize: 99092,
  });
  assert.equal(layout.columns, 24);
  assert.deepEqual(layout.layers.map((layer) => layer.layerId), [1, 14]);
  assert.deepEqual(layout.layers.map((layer) => layer.primes), released.primes);
  assert.deepEqual(layout.layers.map((layer) => layer.offsets), released.offsets);
  assert.deepEqual(layout.layers.map((l) => l.multipliers.map(String)), released.multipliers);
  assert.deepEqual(layout.layers.map((layer) => layer.rows), [384006168, 384016682]);
});
