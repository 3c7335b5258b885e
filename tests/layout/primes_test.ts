import assert from "node:assert/strict";
import fc from "fast-check";
import { drawPrimes } from "../../lib/layout/draw_primes.ts";
import { isPrime } from "../../lib/layout/is_prime.ts";

function isPrimeByDivision(n: number): boolean {
  if (n < 2) return false;
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

Deno.test("every number below 20,000 is judged as by division", () => {
  for (let n = 0; n < 20_000; n++) assert.equal(isPrime(n), isPrimeByDivision(n), String(n));
});

Deno.test("random numbers up to 2^32 are judged as by division", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 }), (n) => isPrime(n) === isPrimeByDivision(n)),
    { numRuns: 300, seed: 5 },
  );
});

Deno.test("known primes and the composites that fool weaker tests", () => {
  // The last primes below 2^31, 2^32 and 2^53, and the first above.
  const primes = [2147483629, 2147483647, 2147483659, 4294967291, 4294967311, 9007199254740881];
  for (const n of primes) assert.ok(isPrime(n), String(n));
  // Carmichael numbers, and strong pseudoprimes to the bases 2; 2,3; … 2 to 13; then squares.
  const composites = [561, 1729, 825265, 2047, 1373653, 25326001, 3215031751, 2152302898747];
  composites.push(
    3474749660383,
    341550071728321,
    94906249 ** 2,
    65537 ** 2,
    2 ** 53 - 1,
    2 ** 32 + 1,
  );
  for (const n of composites) assert.ok(!isPrime(n), String(n));
});

/** The rule word for word: a set of taken primes, and every n-gram searching from the bound on. */
function drawBySet(layers: number, maxNgramSize: number, nHeads: number, vocabSize: number) {
  const taken = new Set<number>();
  return Array.from({ length: layers }, () =>
    Array.from({ length: maxNgramSize - 1 }, () => {
      let last = vocabSize - 1;
      return Array.from({ length: nHeads }, () => {
        do last++; while (!isPrimeByDivision(last) || taken.has(last));
        taken.add(last);
        return last;
      });
    }));
}

Deno.test("primes are drawn as the rule says, word for word", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 100_000 }),
      (...shape) => assert.deepEqual(drawPrimes(...shape), drawBySet(...shape)),
    ),
    { numRuns: 100, seed: 6 },
  );
});

Deno.test("no prime is used twice", () => {
  const all = drawPrimes(6, 5, 8, 1000).flat(2);
  assert.equal(new Set(all).size, all.length);
});

Deno.test("bounds at 2^31, 2^32 and far above", () => {
  assert.deepEqual(drawPrimes(1, 2, 2, 2 ** 31 - 1), [[[2147483647, 2147483659]]]);
  assert.deepEqual(drawPrimes(1, 2, 1, 2 ** 31), [[[2147483659]]]);
  assert.deepEqual(drawPrimes(1, 2, 2, 2 ** 32 - 6), [[[4294967291, 4294967311]]]);
  assert.deepEqual(drawPrimes(1, 2, 1, 2 ** 48), [[[281474976710677]]]);
});
