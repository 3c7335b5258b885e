import assert from "node:assert/strict";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { DEAD, SlotCache } from "../../lib/hash/slot_cache.ts";
import { oracleHash } from "./bigint_oracle.ts";
import { LAYOUT, PAD } from "./small_layout.ts";

const hasher = new NgramHasher(LAYOUT, PAD);

/** One token of `id` at `position`, in the only request. */
function token(id: number, position: number, slot: number, blockTable: Int32Array) {
  return {
    ids: Int32Array.of(id),
    positions: Int32Array.of(position),
    starts: Int32Array.of(0, 1),
    windowDepth: 0,
    slots: Int32Array.of(slot),
    blockTable,
  };
}

function oracle(position: number, sources: (number | "dead" | "unknown")[]): number[] {
  return oracleHash(LAYOUT, PAD, { position, source: (back) => sources[back] });
}

Deno.test("bound to nothing: nothing is hashed", () => {
  const cache = new SlotCache();
  assert.equal(cache.bound, false);
  assert.equal(hasher.hash(token(5, 0, 0, Int32Array.of(0)), cache).length, 0);
  cache.bind({}, 1, 4);
  assert.equal(hasher.hash(token(5, 0, 0, Int32Array.of(0)), cache).length, hasher.idsPerToken);
  cache.unbind();
  assert.equal(cache.bound, false);
  assert.equal(cache.slots.length, 0);
  assert.equal(hasher.hash(token(5, 0, 0, Int32Array.of(0)), cache).length, 0);
});

Deno.test("binding again: the same KV cache keeps the history, another starts from zeros", () => {
  const cache = new SlotCache();
  const [first, second] = [{}, {}];
  cache.bind(first, 2, 4);
  hasher.hash(token(9, 0, 3, Int32Array.of(0)), cache);
  assert.deepEqual(Array.from(cache.slots), [0, 0, 0, 9, 0, 0, 0, 0]);
  cache.bind(first, 2, 4);
  assert.equal(cache.slots[3], 9);
  cache.bind(second, 2, 4);
  assert.deepEqual(Array.from(cache.slots), new Array(8).fill(0));
  cache.slots[3] = 9;
  cache.bind(second, 4, 2);
  assert.deepEqual(Array.from(cache.slots), new Array(8).fill(0), "other sizes are another cache");
});

Deno.test("an unwritten slot is id 0, a known token", () => {
  const cache = new SlotCache();
  cache.bind({}, 2, 4);
  const found = hasher.hash(token(5, 7, 7, Int32Array.of(0, 1)), cache);
  assert.deepEqual(Array.from(found), oracle(7, [5, 0, 0, 0]));
});

Deno.test("a dead token is remembered as dead, a negative slot as nothing", () => {
  const cache = new SlotCache();
  cache.bind({}, 2, 4);
  const blockTable = Int32Array.of(1, 0);
  hasher.hash({ ...token(50, 0, 4, blockTable), dead: Uint8Array.of(1) }, cache);
  hasher.hash(token(51, 1, -1, blockTable), cache);
  hasher.hash(token(52, 2, 6, blockTable), cache);
  assert.deepEqual(Array.from(cache.slots), [0, 0, 0, 0, DEAD, 0, 52, 0]);
  const found = hasher.hash(token(53, 3, 7, blockTable), cache);
  assert.deepEqual(Array.from(found), oracle(3, [53, 52, 0, "dead"]));
});

Deno.test("the window goes before the cache, and the cache fills its unknown tokens", () => {
  const cache = new SlotCache();
  cache.bind({}, 2, 4);
  cache.slots.set([10, 11, 12, 13, 14, 15, 16, 17]);
  const batch = token(5, 6, 6, Int32Array.of(0, 1));
  const window = Int32Array.of(40, -1);
  const found = hasher.hash({ ...batch, window, windowDepth: 2 }, cache);
  assert.deepEqual(Array.from(found), oracle(6, [5, 40, 14, 13]));
});

Deno.test("the chunk's own tokens are written before any lookback is read, in all requests", () => {
  const cache = new SlotCache();
  cache.bind({}, 4, 2);
  // The second request's past is what the first one writes now: blocks are shared.
  const found = hasher.hash({
    ids: Int32Array.of(20, 21, 30),
    positions: Int32Array.of(0, 1, 2),
    starts: Int32Array.of(0, 2, 3),
    windowDepth: 0,
    slots: Int32Array.of(4, 5, 6),
    blockTable: Int32Array.of(2, 0, 2, 3),
  }, cache);
  assert.deepEqual(
    Array.from(found).slice(2 * hasher.idsPerToken),
    oracle(2, [30, 21, 20, "dead"]),
  );
});

Deno.test("positions past 2^31 find their block", () => {
  const cache = new SlotCache();
  const blockSize = 2 ** 20;
  cache.bind({}, 2, blockSize);
  const position = 2 ** 31 + 3;
  // Only the block that holds the position is in use; the others lie before it.
  const blockTable = new Int32Array(2 ** 11 + 1).fill(-1);
  blockTable[2 ** 11] = 1;
  cache.slots.set([60, 61, 62], blockSize);
  const batch = token(5, 0, blockSize + 3, blockTable);
  const found = hasher.hash({ ...batch, positions: Float64Array.of(position) }, cache);
  assert.deepEqual(Array.from(found), oracle(position, [5, 62, 61, 60]));
});

Deno.test("slots and blocks that are not there are refused by name", () => {
  const cache = new SlotCache();
  cache.bind({}, 2, 4);
  const good = token(5, 6, 6, Int32Array.of(0, 1));
  const { slots: _, ...noSlots } = good;
  const { blockTable: __, ...noTable } = good;
  const refuse = (batch: Parameters<typeof hasher.hash>[0], message: RegExp) =>
    assert.throws(() => hasher.hash(batch, cache), (error: Error) => {
      assert.equal(error.name, "EngramError");
      assert.match(error.message, message);
      return true;
    });
  refuse(noSlots, /no slots/);
  refuse(noTable, /no blockTable/);
  refuse({ ...good, slots: Int32Array.of(8) }, /slots\[0\] is 8, wanted below 8/);
  refuse({ ...good, slots: Int32Array.of(1, 2) }, /slots has length 2, wanted 1/);
  refuse({ ...good, blockTable: Int32Array.of(0) }, /blockTable\[0\]\[1\] is past its end/);
  refuse({ ...good, blockTable: Int32Array.of(0, -1) }, /blockTable\[0\]\[1\] is -1/);
  refuse(
    { ...good, blockTable: Int32Array.of(0, 2) },
    /blockTable\[0\]\[1\] is 2, .*below 2 blocks/,
  );
  const starts = Int32Array.of(0, 1, 1);
  refuse(
    { ...good, starts, blockTable: Int32Array.of(0, 1, 1) },
    /length 3, wanted a multiple of 2/,
  );
});

Deno.test("impossible sizes of a slot cache are refused", () => {
  const cache = new SlotCache();
  for (const [blocks, size] of [[0, 4], [4, 0], [-1, 4], [1.5, 2], [NaN, 4], [2 ** 16, 2 ** 16]]) {
    assert.throws(() => cache.bind({}, blocks, size), { name: "EngramError" });
  }
});
