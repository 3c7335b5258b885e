import assert from "node:assert/strict";
import fc from "fast-check";
import type { HashBatch } from "../../lib/hash/hash_batch.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { SlotCache } from "../../lib/hash/slot_cache.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import { oracleHash, oracleRequest } from "./bigint_oracle.ts";
import { ids as someIds, LAYOUT, layoutOf, PAD, VOCABULARY } from "./small_layout.ts";

const hasher = new NgramHasher(LAYOUT, PAD);

function request(ids: Int32Array, first = 0): HashBatch {
  return {
    ids,
    positions: Float64Array.from(ids, (_, i) => first + i),
    starts: Int32Array.of(0, ids.length),
    windowDepth: 0,
  };
}

Deno.test("zero tokens give an empty result, with and without requests", () => {
  const none = new Int32Array(0);
  assert.equal(hasher.hash({ ...request(none) }).length, 0);
  assert.equal(hasher.hash({ ...request(none), starts: Int32Array.of(0) }).length, 0);
  assert.equal(hasher.hash({ ...request(none), starts: Int32Array.of(0, 0, 0) }).length, 0);
});

Deno.test("repeated boundaries are requests without tokens and change nothing", () => {
  const ids = someIds(20);
  const positions = Int32Array.from(ids, (_, i) => (i < 8 ? i : i - 8));
  const plain = hasher.hash({ ids, positions, starts: Int32Array.of(0, 8, 20), windowDepth: 0 });
  const padded = hasher.hash({
    ids,
    positions,
    starts: Int32Array.of(0, 0, 8, 8, 8, 20, 20, 20),
    windowDepth: 0,
  });
  assert.deepEqual(padded, plain);
});

Deno.test("a request hashes as the oracle says, whatever the requests beside it", () => {
  const [a, b] = [someIds(9, 1), someIds(11, 2)];
  const both = hasher.hash({
    ids: Int32Array.of(...a, ...b),
    positions: Int32Array.from([...a.keys(), ...b.keys()]),
    starts: Int32Array.of(0, 9, 20),
    windowDepth: 0,
  });
  const wanted = [...oracleRequest(LAYOUT, PAD, a), ...oracleRequest(LAYOUT, PAD, b)];
  assert.deepEqual(Array.from(both), wanted);
});

Deno.test("a dead token hashes as all pads, and the token after it as if at a start", () => {
  const ids = someIds(8);
  const dead = Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0);
  const found = hasher.hash({ ...request(ids), dead });
  const per = hasher.idsPerToken;
  const pads = hasher.hash(request(Int32Array.of(PAD, PAD, PAD, PAD)));
  assert.deepEqual(found.slice(4 * per, 5 * per), pads.slice(3 * per, 4 * per));
  const fresh = hasher.hash(request(ids.slice(5)));
  assert.deepEqual(found.slice(5 * per), fresh);
  assert.deepEqual(Array.from(found), oracleRequest(LAYOUT, PAD, ids, dead));
});

Deno.test("the id of a dead token is not looked at", () => {
  const dead = Uint8Array.of(0, 1, 0);
  const found = [-5, 0, VOCABULARY, 2 ** 31 - 1].map((id) =>
    hasher.hash({ ...request(Int32Array.of(3, id, 4)), dead })
  );
  for (const rows of found) assert.deepEqual(rows, found[0]);
});

Deno.test("an unknown window token is padding but does not block those behind it", () => {
  const found = hasher.hash({
    ...request(Int32Array.of(5), 100),
    window: Int32Array.of(-1, 7, 8),
    windowDepth: 3,
  });
  const source = (back: number) => ([5, "unknown", 7, 8] as const)[back];
  assert.deepEqual(Array.from(found), oracleHash(LAYOUT, PAD, { position: 100, source }));
});

Deno.test("window tokens: nearest first, dead ones block, those before position 0 do not count", () => {
  const window = Int32Array.of(11, 12, 13);
  for (
    const [position, windowDead] of [[50, [0, 0, 0]], [50, [0, 1, 0]], [2, [0, 0, 0]]] as const
  ) {
    const found = hasher.hash({
      ...request(Int32Array.of(5), position),
      window,
      windowDead: Uint8Array.from(windowDead),
      windowDepth: 3,
    });
    const source = (back: number) =>
      back === 0 ? 5 : windowDead[back - 1] ? "dead" : window[back - 1];
    assert.deepEqual(Array.from(found), oracleHash(LAYOUT, PAD, { position, source }));
  }
});

Deno.test("a window shallower or deeper than the n-grams is used as far as it goes", () => {
  for (const depth of [1, 2, 5]) {
    const window = Int32Array.of(11, 12, 13, 14, 15).subarray(0, depth);
    const found = hasher.hash({
      ...request(Int32Array.of(5), 100),
      window,
      windowDepth: depth,
    });
    const source = (back: number) => back === 0 ? 5 : back <= depth ? window[back - 1] : "unknown";
    assert.deepEqual(Array.from(found), oracleHash(LAYOUT, PAD, { position: 100, source }));
  }
});

Deno.test("positions at 2^31, 2^32 and 2^53 hash as any other", () => {
  const ids = someIds(6);
  const wanted = Array.from(hasher.hash(request(ids, 1000)));
  for (const first of [2 ** 31 - 3, 2 ** 32 - 3, 2 ** 53 - 1 - 5]) {
    assert.deepEqual(Array.from(hasher.hash(request(ids, first))), wanted, String(first));
  }
});

Deno.test("compressed ids up to 2^31 - 1 in a vocabulary of 2^31", () => {
  const layout = layoutOf({ compressedVocabSize: 2 ** 31 });
  const ids = Int32Array.of(2 ** 31 - 1, 0, 2 ** 31 - 2, 2 ** 30, 1);
  const found = new NgramHasher(layout, 2 ** 31 - 1).hash(request(ids));
  assert.deepEqual(Array.from(found), oracleRequest(layout, 2 ** 31 - 1, ids));
});

Deno.test("chunks of any sizes give the rows of the whole, through a stream and through a cache", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: VOCABULARY - 1 }), fc.boolean()), { maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 5 }),
      (tokens, sizes, blockSize) => {
        const ids = Int32Array.from(tokens, ([id]) => id);
        const dead = Uint8Array.from(tokens, ([, flag]) => (flag ? 1 : 0));
        const wanted = oracleRequest(LAYOUT, PAD, ids, dead);
        const stream = new StreamHasher(hasher);
        const cache = new SlotCache();
        cache.bind({}, 64, blockSize);
        // Blocks handed out from the last to the first.
        const blockTable = Int32Array.from({ length: 64 }, (_, i) => 63 - i);
        const streamed: number[] = [];
        const cached: number[] = [];
        for (let at = 0, i = 0; at < ids.length; i++) {
          // A zero is an empty chunk now and then; past the list, the rest at once.
          const size = sizes[i] ?? ids.length;
          const part = ids.subarray(at, at + size);
          const flags = dead.subarray(at, at + size);
          streamed.push(...stream.push(part, flags));
          const positions = Int32Array.from(part, (_, j) => at + j);
          const slots = positions.map((p) =>
            blockTable[Math.floor(p / blockSize)] * blockSize + (p % blockSize)
          );
          const starts = Int32Array.of(0, part.length);
          const batch = { ids: part, dead: flags, positions, starts, windowDepth: 0 };
          cached.push(...hasher.hash({ ...batch, slots, blockTable }, cache));
          at += size;
        }
        assert.deepEqual(streamed, wanted);
        assert.deepEqual(cached, wanted);
      },
    ),
    { numRuns: 200, seed: 3 },
  );
});

for (const chunk of [1, 7, 4096]) {
  Deno.test(`a long request in chunks of ${chunk} hashes as in one`, () => {
    const ids = someIds(10_000);
    const dead = Uint8Array.from(ids, (id) => (id % 11 === 0 ? 1 : 0));
    const whole = hasher.hash({ ...request(ids), dead });
    const stream = new StreamHasher(hasher);
    for (let at = 0; at < ids.length; at += chunk) {
      const rows = stream.push(ids.subarray(at, at + chunk), dead.subarray(at, at + chunk));
      assert.deepEqual(
        rows,
        whole.slice(at * hasher.idsPerToken, at * hasher.idsPerToken + rows.length),
      );
    }
    assert.equal(stream.position, ids.length);
  });
}

Deno.test("a stream begins anew after reset, and takes nothing of a push that failed", () => {
  const stream = new StreamHasher(hasher);
  const ids = someIds(5);
  const first = stream.push(ids);
  assert.throws(() => stream.push(Int32Array.of(1, VOCABULARY)), /ids\[1\] is 101/);
  const next = stream.push(ids);
  const whole = oracleRequest(LAYOUT, PAD, [...ids, ...ids]);
  assert.deepEqual([...first, ...next], whole);
  stream.reset();
  assert.equal(stream.position, 0);
  assert.deepEqual(stream.push(ids), first);
});

Deno.test("requests in one stream, cut anywhere, hash each by itself", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 12 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 20 }),
      (lengths, chunk) => {
        const requests = lengths.map((length, i) => someIds(length, i));
        const wanted = requests.flatMap((ids) => oracleRequest(LAYOUT, PAD, ids));
        const all = Int32Array.from(requests.flatMap((ids) => [...ids]));
        const starts = lengths.map((_, i) => lengths.slice(0, i).reduce((sum, n) => sum + n, 0));
        const stream = new StreamHasher(hasher);
        const found: number[] = [];
        for (let at = 0; at < all.length; at += chunk) {
          const part = all.subarray(at, at + chunk);
          const own = starts.filter((start) => start >= at && start < at + part.length);
          found.push(...stream.push(part, undefined, own.map((start) => start - at)));
        }
        assert.deepEqual(found, wanted);
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

Deno.test("request starts that do not ascend or lie outside the chunk are refused", () => {
  const stream = new StreamHasher(hasher);
  for (const starts of [[2, 1], [-1], [4], [0.5], [NaN]]) {
    assert.throws(() => stream.push(someIds(3), undefined, starts), {
      name: "EngramError",
      kind: "usage",
    });
  }
  stream.push(someIds(3), undefined, [0, 0, 3, 3]);
  assert.equal(stream.position, 0);
});

const BAD: [what: string, change: Partial<HashBatch>, message: RegExp][] = [
  [
    "a negative id",
    { ids: Int32Array.of(1, -1, 2) },
    /ids\[1\] is -1, wanted from 0, below .*101$/,
  ],
  ["an id past the map", { ids: Int32Array.of(1, 2, 101) }, /ids\[2\] is 101/],
  ["too few positions", { positions: Int32Array.of(0, 1) }, /positions has length 2, wanted 3/],
  ["a negative position", { positions: Int32Array.of(0, -1, 2) }, /positions\[1\] is -1/],
  ["a fractional position", { positions: Float64Array.of(0, 0.5, 2) }, /positions\[1\] is 0.5/],
  ["a position that is no number", { positions: Float64Array.of(0, NaN, 2) }, /\[1\] is NaN/],
  [
    "a position past 2^53",
    { positions: Float64Array.of(0, 2 ** 53, 2) },
    /\[1\] is 9007199254740992/,
  ],
  ["no boundaries", { starts: new Int32Array(0) }, /starts is empty/],
  ["a first boundary that is not 0", { starts: Int32Array.of(1, 3) }, /starts\[0\] is 1, wanted 0/],
  ["falling boundaries", { starts: Int32Array.of(0, 3, 2, 3) }, /starts\[2\] is 2, wanted 3/],
  ["boundaries that end early", { starts: Int32Array.of(0, 2) }, /starts ends at 2, wanted 3/],
  ["too few dead flags", { dead: Uint8Array.of(0) }, /dead has length 1, wanted 3/],
  ["a window without its depth", { window: Int32Array.of(1) }, /window has length 1, wanted 0/],
  ["a depth without a window", { windowDepth: 2 }, /window has length 0, wanted 2/],
  ["a negative depth", { windowDepth: -1 }, /windowDepth is -1/],
  [
    "a window id past the map",
    { window: Int32Array.of(101), windowDepth: 1 },
    /window\[0\] is 101, wanted below/,
  ],
];

for (const [what, change, message] of BAD) {
  Deno.test(`a batch with ${what} is refused`, () => {
    const good = request(Int32Array.of(1, 2, 3));
    assert.throws(() => hasher.hash({ ...good, ...change }), (error: Error) => {
      assert.equal(error.name, "EngramError");
      assert.match(error.message, message);
      return true;
    });
  });
}
