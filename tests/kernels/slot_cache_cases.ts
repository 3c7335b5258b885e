import assert from "node:assert/strict";
import { SlotCache } from "../../lib/hash/slot_cache.ts";
import { oracleHash, oracleRequest } from "../hash/bigint_oracle.ts";
import { layoutOf } from "./hash_layouts.ts";
import { Random } from "./random.ts";
import type { Cases } from "./suite.ts";

/** The hash with lookbacks read from a slot cache that the same call writes. */
export const slotCacheCases: Cases = async (kernels, step) => {
  const layout = layoutOf({
    layer_ids: [1, 14],
    max_ngram_size: 4,
    n_heads: 4,
    engram_vocab_size: 1000,
    compressed_vocab_size: 500,
  });
  const padId = 2;

  await step("writes ids and DEAD to the slots given, and no others", async () => {
    const cache = bound(4, 4);
    cache.slots.fill(77);
    await kernels.hash(layout, padId, {
      ids: Int32Array.of(10, 11, 12, 13),
      dead: Uint8Array.of(0, 1, 0, 0),
      positions: Int32Array.of(0, 1, 2, 3),
      starts: Int32Array.of(0, 4),
      windowDepth: 0,
      slots: Int32Array.of(5, 6, -1, 0),
      blockTable: Int32Array.of(1),
    }, cache);
    const wanted = new Int32Array(16).fill(77);
    wanted.set([10, -1], 5);
    wanted[0] = 13;
    assert.deepEqual(cache.slots, wanted);
  });

  for (const blockSize of [1, 3, 16]) {
    await step(`requests in chunks, side by side, blocks of ${blockSize}`, async () => {
      const random = new Random(blockSize);
      const lengths = [23, 1, 40, 17];
      const requests = lengths.map((length) => ({
        ids: Array.from({ length }, () => random.below(500)),
        dead: Array.from({ length }, () => (random.below(6) ? 0 : 1)),
        done: 0,
      }));
      const blocks = Math.ceil(40 / blockSize);
      // Blocks of all requests, dealt in a scrambled order.
      const order = Array.from({ length: blocks * requests.length }, (_, i) => i);
      order.sort((a, b) => (a * 7919) % 101 - (b * 7919) % 101);
      const table = Int32Array.from(order);
      const cache = bound(order.length, blockSize);
      const found: number[][] = requests.map(() => []);
      while (requests.some(({ ids, done }) => done < ids.length)) {
        const chunks = requests.map(({ ids, done }) =>
          Math.min(random.below(6), ids.length - done)
        );
        const starts = Int32Array.from([0, ...chunks]);
        for (let r = 1; r < starts.length; r++) starts[r] += starts[r - 1];
        const each = <T>(take: (r: number, position: number) => T) =>
          requests.flatMap(({ done }, r) =>
            Array.from({ length: chunks[r] }, (_, i) => take(r, done + i))
          );
        const result = await kernels.hash(layout, padId, {
          ids: Int32Array.from(each((r, p) => requests[r].ids[p])),
          dead: Uint8Array.from(each((r, p) => requests[r].dead[p])),
          positions: Float64Array.from(each((_, p) => p)),
          slots: Int32Array.from(
            each((r, p) =>
              table[r * blocks + Math.floor(p / blockSize)] * blockSize + p % blockSize
            ),
          ),
          starts,
          windowDepth: 0,
          blockTable: table,
        }, cache);
        const per = layout.layers.length * layout.columns;
        chunks.forEach((length, r) => {
          found[r].push(...result.subarray(starts[r] * per, (starts[r] + length) * per));
          requests[r].done += length;
        });
      }
      requests.forEach(({ ids, dead }, r) => {
        assert.deepEqual(found[r], oracleRequest(layout, padId, ids, dead), `request ${r}`);
      });
    });
  }

  await step("a known window goes before the cache; what it does not know is read", async () => {
    const cache = bound(1, 8);
    cache.slots.set([100, 101, 102, 103]);
    const found = await kernels.hash(layout, padId, {
      ids: Int32Array.of(50),
      positions: Int32Array.of(4),
      starts: Int32Array.of(0, 1),
      window: Int32Array.of(9, -1),
      windowDepth: 2,
      slots: Int32Array.of(4),
      blockTable: Int32Array.of(0),
    }, cache);
    const sources = [50, 9, 102, 101];
    const wanted = oracleHash(layout, padId, { position: 4, source: (back) => sources[back] });
    assert.deepEqual([...found], wanted);
  });

  await step(
    "rebinding discards the history; the same cache keeps it; unbound hashes nothing",
    async () => {
      const cache = new SlotCache();
      const chunk = (ids: number[], first: number) => ({
        ids: Int32Array.from(ids),
        positions: Int32Array.from(ids, (_, i) => first + i),
        starts: Int32Array.of(0, ids.length),
        windowDepth: 0,
        slots: Int32Array.from(ids, (_, i) => first + i),
        blockTable: Int32Array.of(0),
      });
      assert.equal((await kernels.hash(layout, padId, chunk([1, 2], 0), cache)).length, 0);
      const first = {};
      cache.bind(first, 1, 16);
      await kernels.hash(layout, padId, chunk([21, 22, 23], 0), cache);
      cache.bind(first, 1, 16);
      const kept = await kernels.hash(layout, padId, chunk([24], 3), cache);
      const per = layout.layers.length * layout.columns;
      assert.deepEqual([...kept], oracleRequest(layout, padId, [21, 22, 23, 24]).slice(3 * per));
      cache.bind({}, 1, 16);
      const fresh = await kernels.hash(layout, padId, chunk([24], 3), cache);
      const zeros = oracleHash(layout, padId, { position: 3, source: (back) => (back ? 0 : 24) });
      assert.deepEqual([...fresh], zeros, "a fresh cache holds zeros");
      cache.unbind();
      assert.equal((await kernels.hash(layout, padId, chunk([24], 3), cache)).length, 0);
    },
  );
};

function bound(blocks: number, blockSize: number): SlotCache {
  const cache = new SlotCache();
  cache.bind({}, blocks, blockSize);
  return cache;
}
