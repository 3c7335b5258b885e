/** Witnesses that decide primality of every n below 3.3e24 (Sorenson and Webster, 2015). */
const WITNESSES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/** Below this, the first four of them do (Jaeschke, 1993). */
const FOUR_DO = 3_215_031_751;

/** Below this, squares of remainders stay under 2^53, so that plain numbers are exact. */
const PLAIN_LIMIT = 2 ** 26;

/**
 * Whether `n` is prime: decided, not guessed (strong-pseudoprime test with enough witnesses).
 * `n` is an integer from 0 to 2^53 - 1.
 */
export function isPrime(n: number): boolean {
  if (n < 2) return false;
  for (const p of WITNESSES) {
    if (n % p === 0) return n === p;
  }
  let odd = n - 1;
  let twos = 0;
  while (odd % 2 === 0) {
    odd /= 2;
    twos++;
  }
  const multiply = n < PLAIN_LIMIT ? timesPlain : timesBig;
  const witnesses = n < FOUR_DO ? WITNESSES.slice(0, 4) : WITNESSES;
  return witnesses.every((witness) => passes(n, witness, odd, twos, multiply));
}

function passes(
  n: number,
  witness: number,
  odd: number,
  twos: number,
  multiply: (a: number, b: number, n: number) => number,
): boolean {
  let power = 1;
  let base = witness % n;
  for (let rest = odd; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) power = multiply(power, base, n);
    base = multiply(base, base, n);
  }
  if (power === 1 || power === n - 1) return true;
  for (let i = 1; i < twos; i++) {
    power = multiply(power, power, n);
    if (power === n - 1) return true;
  }
  return false;
}

function timesPlain(a: number, b: number, n: number): number {
  return (a * b) % n;
}

function timesBig(a: number, b: number, n: number): number {
  return Number((BigInt(a) * BigInt(b)) % BigInt(n));
}
