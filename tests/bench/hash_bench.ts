/**
 * The hash alone, 2 layers × 24 columns of the released layout, one core: `deno bench
 * tests/bench/hash_bench.ts`. Tokens a second = 65,536 over the time of an iteration of `hash`, and
 * 1,024 over that of the reference.
 *
 * @module
 */
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { oracleRequest } from "../hash/bigint_oracle.ts";

const TOKENS = 65_536;
const REFERENCE_TOKENS = 1024;
const VOCABULARY = 99_092;

const layout = buildLayout({
  where: "bench",
  layerIds: [1, 14],
  maxNgramSize: 4,
  nHeads: 8,
  vocabSize: 16_000_000,
  compressedVocabSize: VOCABULARY,
});
const hasher = new NgramHasher(layout, 1);

// A fixed congruential generator: the same ids on every run.
let seed = 1;
const ids = Int32Array.from({ length: TOKENS }, () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed % VOCABULARY;
});
const whole = {
  ids,
  positions: Int32Array.from(ids.keys()),
  starts: Int32Array.of(0, TOKENS),
  windowDepth: 0,
};

Deno.bench(`hash, one batch of ${TOKENS} tokens`, { group: "hash", baseline: true }, () => {
  hasher.hash(whole);
});

Deno.bench(`hash, ${TOKENS} tokens in chunks of 4096`, { group: "hash" }, () => {
  const stream = new StreamHasher(hasher);
  for (let at = 0; at < TOKENS; at += 4096) stream.push(ids.subarray(at, at + 4096));
});

Deno.bench(`BigInt reference, ${REFERENCE_TOKENS} tokens`, { group: "reference" }, () => {
  oracleRequest(layout, 1, ids.subarray(0, REFERENCE_TOKENS));
});
