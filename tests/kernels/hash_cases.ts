import assert from "node:assert/strict";
import type { HashBatch } from "../../lib/hash/hash_batch.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { oracleHash, oracleRequest } from "../hash/bigint_oracle.ts";
import { goldenBatches, layoutOf } from "./hash_layouts.ts";
import { Random } from "./random.ts";
import type { Cases } from "./suite.ts";

/** The n-gram hash without a slot cache. */
export const hashCases: Cases = async (kernels, step) => {
  for (const { name, layout, padId, batch, wanted } of goldenBatches()) {
    await step(`golden batch ${name}`, async () => {
      assert.deepEqual(await kernels.hash(layout, padId, batch), wanted);
    });
  }

  await step("rolling values 0, prime - 1, prime, 2^63 - 1 and their neighbours", async () => {
    for (const prime of [2, 3, 97, 65_537, 16_000_057, 2 ** 24 - 3, 2 ** 24 + 43, 2 ** 31 - 1]) {
      const p = BigInt(prime);
      const values = [0n, 1n, p - 1n, p, p + 1n, p * p - 1n, p * p, p * p + 1n];
      const top = 2n ** 63n - 1n;
      values.push(top, top - 1n, top - (top % p), top - (top % p) - 1n, 2n ** 62n, 2n ** 32n - 1n);
      values.push(2n ** 31n, 2n ** 32n, 2n ** 53n + 1n, 0x5555_5555_5555_5555n);
      for (const value of values.filter((value) => value <= top)) {
        const layout = oneColumn(prime, value);
        const found = await kernels.hash(layout, 0, single(1));
        assert.deepEqual([...found], [Number(value % p)], `${value} mod ${prime}`);
      }
    }
  });

  const sizes: [layers: number[], maxNgram: number, heads: number, vocab: number][] = [
    [[0], 2, 1, 1],
    [[5], 2, 8, 3],
    [[1, 2, 3], 3, 3, 50],
    [[1, 14], 4, 8, 16_000_000],
    [[7], 5, 5, 17_000_000],
    [[2], 3, 1, 1_000_000_000],
    [[0, 9], 8, 2, 12_345],
  ];
  for (const [layer_ids, max_ngram_size, n_heads, engram_vocab_size] of sizes) {
    const name = `${layer_ids.length} layers × ${max_ngram_size}-grams × ${n_heads} heads`;
    await step(`random requests: ${name} above ${engram_vocab_size}`, async () => {
      for (const compressed_vocab_size of [1, 2, 300, 99_092]) {
        const layout = layoutOf({
          layer_ids,
          max_ngram_size,
          n_heads,
          engram_vocab_size,
          compressed_vocab_size,
        });
        const random = new Random(engram_vocab_size + compressed_vocab_size);
        const padId = random.below(compressed_vocab_size);
        const batch = randomBatch(random, layout);
        const found = await kernels.hash(layout, padId, batch);
        assert.deepEqual([...found], oracleBatch(layout, padId, batch));
      }
    });
  }

  await step("positions past 2^32, and a chunk whose past is unknown", async () => {
    const layout = layoutOf(SMALL);
    for (const first of [1, 2, 3, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 52]) {
      const ids = Int32Array.of(5, 6, 7, 8, 9);
      const positions = Float64Array.from(ids, (_, i) => first + i);
      const starts = Int32Array.of(0, 5);
      const found = await kernels.hash(layout, 4, { ids, positions, starts, windowDepth: 0 });
      assert.deepEqual([...found], oracleRequest(layout, 4, ids, undefined, first), `${first}`);
    }
  });

  await step("zero tokens, one token, 100,000 tokens", async () => {
    const layout = layoutOf(SMALL);
    const none = Int32Array.of();
    const empty = { ids: none, positions: none, windowDepth: 0 };
    for (const starts of [Int32Array.of(0), Int32Array.of(0, 0, 0)]) {
      assert.equal((await kernels.hash(layout, 0, { ...empty, starts })).length, 0);
    }
    assert.deepEqual(
      [...await kernels.hash(layout, 3, single(7))],
      oracleRequest(layout, 3, [7]),
    );
    const tokens = 100_000;
    const random = new Random(1);
    const ids = Int32Array.from({ length: tokens }, () => random.below(300));
    const positions = Int32Array.from(ids, (_, i) => i);
    const starts = Int32Array.of(0, tokens);
    const found = await kernels.hash(layout, 3, { ids, positions, starts, windowDepth: 0 });
    const per = layout.layers.length * layout.columns;
    assert.equal(found.length, tokens * per);
    for (const first of [0, 32_760, 65_530, tokens - 20]) {
      const wanted = oracleRequest(layout, 3, ids.subarray(first, first + 20), undefined, first);
      // Three tokens of the past are not known to the oracle.
      assert.deepEqual(
        [...found.subarray((first + 3) * per, (first + 20) * per)],
        wanted.slice(3 * per),
      );
    }
  });
};

const SMALL = {
  layer_ids: [1, 4],
  max_ngram_size: 4,
  n_heads: 3,
  engram_vocab_size: 97,
  compressed_vocab_size: 300,
};

/** One layer, one 2-gram column of `prime` buckets whose rolling value for id 1 at a start is `value`. */
function oneColumn(prime: number, value: bigint): Layout {
  const layer = {
    layerId: 0,
    primes: [[prime]],
    offsets: [0],
    multipliers: [value, 1n],
    rows: prime,
  };
  return { maxNgramSize: 2, nHeads: 1, columns: 1, compressedVocabSize: 2, layers: [layer] };
}

function single(id: number): HashBatch {
  return {
    ids: Int32Array.of(id),
    positions: Int32Array.of(0),
    starts: Int32Array.of(0, 1),
    windowDepth: 0,
  };
}

/** Requests of 0 to 9 tokens with windows and dead tokens, some padding boundaries among them. */
function randomBatch(random: Random, layout: Layout): HashBatch & { window: Int32Array } {
  const lengths = Array.from({ length: 20 }, () => random.below(10));
  const starts = Int32Array.from([0, ...lengths]);
  for (let r = 1; r < starts.length; r++) starts[r] += starts[r - 1];
  const tokens = starts[20];
  const firsts = lengths.map(() => random.below(6));
  const positions = Float64Array.from(
    lengths.flatMap((length, r) => Array.from({ length }, (_, i) => firsts[r] + i)),
  );
  const id = () => random.below(layout.compressedVocabSize);
  const windowDepth = layout.maxNgramSize - 1;
  const window = Int32Array.from({ length: 20 * windowDepth }, () => random.below(4) ? id() : -1);
  return {
    ids: Int32Array.from({ length: tokens }, id),
    positions,
    starts,
    dead: Uint8Array.from({ length: tokens }, () => random.below(5) ? 0 : 1),
    window,
    windowDead: Uint8Array.from(window, () => random.below(6) ? 0 : 1),
    windowDepth,
  };
}

function oracleBatch(
  layout: Layout,
  padId: number,
  batch: HashBatch & { window: Int32Array },
): number[] {
  const { ids, positions, starts, dead, window, windowDead, windowDepth } = batch;
  const out: number[] = [];
  for (let r = 0; r + 1 < starts.length; r++) {
    for (let t = starts[r]; t < starts[r + 1]; t++) {
      out.push(...oracleHash(layout, padId, {
        position: positions[t],
        source(back) {
          const at = t - back;
          if (at >= starts[r]) return dead![at] ? "dead" : ids[at];
          const w = r * windowDepth + starts[r] - at - 1;
          return windowDead![w] ? "dead" : window[w] < 0 ? "unknown" : window[w];
        },
      }));
    }
  }
  return out;
}
