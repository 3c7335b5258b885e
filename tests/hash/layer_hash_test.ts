import assert from "node:assert/strict";
import fc from "fast-check";
import { LayerHash } from "../../lib/hash/layer_hash.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import type { LayerLayout, Layout } from "../../lib/layout/layout.ts";
import { oracleHash } from "./bigint_oracle.ts";

/** A layout put together by hand, so that any prime and multiplier can be tried. */
function handMade(primes: number[], multipliers: bigint[], compressedVocabSize: number): Layout {
  const layer: LayerLayout = {
    layerId: 0,
    primes: [primes],
    offsets: primes.map((_, i) => primes.slice(0, i).reduce((sum, prime) => sum + prime, 0)),
    multipliers,
    rows: primes.reduce((sum, prime) => sum + prime, 0),
  };
  return {
    maxNgramSize: 2,
    nHeads: primes.length,
    columns: primes.length,
    compressedVocabSize,
    layers: [layer],
  };
}

function hashBoth(layout: Layout, sources: number[]): [found: number[], wanted: number[]] {
  const out = new Int32Array(layout.columns);
  new LayerHash(layout.layers[0], layout).hash(Int32Array.from(sources), out, 0);
  const token = { position: 1, source: (back: number) => sources[back] };
  return [Array.from(out), oracleHash(layout, 0, token)];
}

/** Every size class: the smallest, around the switch at 2^14, the released, around 2^30, the last. */
const PRIMES = [
  2,
  3,
  16_381,
  16_411,
  65_521,
  16_000_057,
  16_777_213,
  16_777_259,
  1_073_741_789,
  1_073_741_827,
  2_147_483_629,
  2_147_483_647,
];

const INT64_MAX = (1n << 63n) - 1n;

for (const prime of PRIMES) {
  Deno.test(`values around multiples of the prime ${prime} are reduced exactly`, () => {
    const p = BigInt(prime);
    const top = INT64_MAX / p;
    // A single id of 1 and another of 0 make the value the first multiplier itself.
    for (
      const quotient of [0n, 1n, 2n, 3n, 1n << 31n, 1n << 32n, (1n << 49n) - 1n, top - 1n, top]
    ) {
      for (const off of [-2n, -1n, 0n, 1n, 2n, p - 1n]) {
        const value = quotient * p + off;
        if (value < 0n || value > INT64_MAX) continue;
        const layout = handMade([prime], [value, 1n], 2);
        const [found] = hashBoth(layout, [1, 0]);
        assert.deepEqual(found, [Number(value % p)], `${value} mod ${prime}`);
      }
    }
  });
}

Deno.test("values at the edges of 31, 32, 53 and 63 bits are reduced exactly", () => {
  for (const bits of [0n, 1n, 31n, 32n, 33n, 52n, 53n, 54n, 62n, 63n]) {
    for (const off of [-1n, 0n, 1n]) {
      const value = (1n << bits) + off;
      if (value < 0n || value > INT64_MAX) continue;
      for (const prime of PRIMES) {
        const [found] = hashBoth(handMade([prime], [value, 1n], 2), [1, 0]);
        assert.deepEqual(found, [Number(value % BigInt(prime))], `${value} mod ${prime}`);
      }
    }
  }
});

Deno.test("any ids, multipliers and primes hash as in BigInt", () => {
  const prime = fc.constantFrom(...PRIMES.filter((p) => p < 2 ** 30));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 ** 31 }),
      fc.array(prime, { minLength: 1, maxLength: 2 }),
      fc.array(fc.bigInt({ min: 0n, max: INT64_MAX }), { minLength: 2, maxLength: 2 }),
      fc.array(fc.nat({ max: 2 ** 31 - 1 }), { minLength: 2, maxLength: 2 }),
      (size, primes, raw, ids) => {
        // Brought below the bound that the layout's own multipliers keep.
        const bound = INT64_MAX / BigInt(size);
        const layout = handMade(primes, raw.map((m) => m % (bound + 1n)), size);
        const [found, wanted] = hashBoth(layout, ids.map((id) => id % size));
        assert.deepEqual(found, wanted);
      },
    ),
    { numRuns: 20_000, seed: 1 },
  );
});

Deno.test("products at the very top: the largest id times the largest multiplier", () => {
  for (const size of [2, 3, 99_092, 2 ** 24, 2 ** 31 - 1, 2 ** 31]) {
    const largest = BigInt(size) - 1n;
    const multiplier = INT64_MAX / largest;
    for (const prime of PRIMES.filter((p) => p < 2 ** 30)) {
      const layout = handMade([prime, prime], [multiplier, multiplier - 1n], size);
      const [found, wanted] = hashBoth(layout, [size - 1, size - 1]);
      assert.deepEqual(found, wanted, `${size} ${prime}`);
    }
  }
});

Deno.test("a layer whose ids or products do not fit is refused with the numbers", () => {
  const wide = handMade([2_147_483_647, 2], [1n, 1n], 2);
  assert.throws(() => new NgramHasher(wide, 0), /2147483649 rows, wanted at most 2\^31/);
  // 2^31 rows are the most: their last row is 2^31 - 1.
  const full = handMade([2_147_483_645, 3], [1n, 1n], 2);
  assert.equal(full.layers[0].rows, 2 ** 31);
  assert.deepEqual(hashBoth(full, [0, 0]), [[0, 2_147_483_645], [0, 2_147_483_645]]);

  const over = handMade([7], [INT64_MAX / 98n + 1n, 1n], 99);
  assert.throws(() => new NgramHasher(over, 0), /times id 98 does not fit int64/);
  assert.throws(() => new NgramHasher(handMade([7], [-1n, 1n], 99), 0), /multiplier -1/);
});

Deno.test("a pad id outside the compressed vocabulary is refused", () => {
  const layout = handMade([7], [1n, 1n], 99);
  for (const pad of [-1, 99, 0.5, NaN, 2 ** 31, 2 ** 32]) {
    assert.throws(() => new NgramHasher(layout, pad), {
      name: "EngramError",
      message: `Cannot hash: compressed pad id is ${pad}, ` +
        "wanted from 0, below the compressed vocabulary of 99",
    });
  }
  new NgramHasher(layout, 98);
});
