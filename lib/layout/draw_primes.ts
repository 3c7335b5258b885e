import { isPrime } from "./is_prime.ts";

/**
 * The buckets of every column: `primes[layer][n - 2][head]`.
 *
 * The rule: for each layer, n-gram size and head in turn, the smallest prime above the previous one
 * of the same n-gram (at first above `vocabSize - 1`) that nothing has taken yet. What is taken is
 * thereby always an unbroken run of primes from `vocabSize` on, so each draw is the next prime.
 */
export function drawPrimes(
  layers: number,
  maxNgramSize: number,
  nHeads: number,
  vocabSize: number,
): number[][][] {
  let last = vocabSize - 1;
  const draw = () => {
    do last++; while (!isPrime(last));
    return last;
  };
  return Array.from(
    { length: layers },
    () =>
      Array.from({ length: maxNgramSize - 1 }, () => Array.from({ length: nHeads }, () => draw())),
  );
}
