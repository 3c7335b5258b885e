import { EngramError } from "../errors.ts";
import type { LayerLayout, Layout } from "../layout/layout.ts";

/** Primes from here on need no reduction of the value's upper half; see {@linkcode LayerHash}. */
const WIDE_PRIME = 2 ** 14;

/**
 * One layer's hash in plain numbers, exact. Hash values are int64 that are never negative: ids are
 * below the compressed vocabulary, which bounds every product below 2^63, and XOR sets no sign bit
 * that no operand has; so int64's remainder needs no care for signs. A value is kept as two parts,
 * `high` (31 bits) and `low` (32 bits).
 *
 * Product: `low` is the product modulo 2^32, which `Math.imul` gives exactly. The double product
 * is within 2^11 of the true one, so that taking `low` away and dividing by 2^32 comes within a
 * millionth of the integer `high`, and rounding finds it.
 *
 * Remainder: the quotient is estimated as value * (1/prime), the reciprocal lowered by a factor of
 * 1 - 2^-50. Four roundings of 2^-53 each cannot make up for that, so the estimate is never above
 * the true quotient; and it is less than 1 below while the quotient is under 2^49. So after
 * truncation it is right or one too small, and value - quotient * prime lies in [0, 2 * prime),
 * which fits 32 bits: its lower 32 bits are enough, and one subtraction at most finishes it.
 * A prime below 2^14 could have larger quotients: there `high` is first reduced by the prime.
 */
export class LayerHash {
  readonly #heads: number;
  readonly #multipliers: Float64Array;
  readonly #multipliersLow: Int32Array;
  readonly #primes: Int32Array;
  readonly #reciprocals: Float64Array;
  readonly #offsets: Int32Array;
  readonly #wide: boolean;

  /**
   * Prepares `layer` of `layout`.
   *
   * @throws an {@linkcode EngramError} of kind `malformed` when its rows do not fit int32 ids, or a
   * product could pass 2^63.
   */
  constructor(layer: LayerLayout, layout: Layout) {
    const primes = layer.primes.flat();
    checkFits(layer, layout);
    this.#heads = layout.nHeads;
    this.#multipliers = Float64Array.from(layer.multipliers, Number);
    this.#multipliersLow = Int32Array.from(layer.multipliers, (m) => Number(BigInt.asIntN(32, m)));
    this.#primes = Int32Array.from(primes);
    this.#reciprocals = Float64Array.from(primes, (prime) => (1 / prime) * (1 - 2 ** -50));
    this.#offsets = Int32Array.from(layer.offsets);
    this.#wide = primes.every((prime) => prime >= WIDE_PRIME);
  }

  /**
   * Hashes one token: from the compressed ids of its lookbacks, nearest first, to the row of each
   * column, written to `out` from `at` on.
   */
  hash(sources: Int32Array, out: Int32Array, at: number): void {
    const heads = this.#heads;
    const multipliers = this.#multipliers;
    const multipliersLow = this.#multipliersLow;
    const primes = this.#primes;
    const reciprocals = this.#reciprocals;
    const offsets = this.#offsets;
    const wide = this.#wide;
    let high = 0;
    let low = 0;
    for (let back = 0, column = 0; back < sources.length; back++) {
      const id = sources[back];
      const productLow = Math.imul(multipliersLow[back], id);
      low ^= productLow;
      // XOR truncates its operand, so that adding a half rounds it; it is below 2^31.
      high ^= (multipliers[back] * id - (productLow >>> 0)) * 2 ** -32 + 0.5;
      if (back === 0) continue;
      const value = high * 2 ** 32 + (low >>> 0);
      for (const end = column + heads; column < end; column++) {
        const prime = primes[column];
        const estimate = wide ? value : (high % prime) * 2 ** 32 + (low >>> 0);
        // Math.imul takes the truncated quotient modulo 2^32.
        const rest = (low - Math.imul(estimate * reciprocals[column], prime)) >>> 0;
        out[at + column] = (rest >= prime ? rest - prime : rest) + offsets[column];
      }
    }
  }
}

function checkFits(layer: LayerLayout, layout: Layout): void {
  const refuse = (what: string) => {
    throw new EngramError("malformed", `Cannot hash layer ${layer.layerId}: ${what}`);
  };
  if (layer.rows > 2 ** 31) refuse(`it has ${layer.rows} rows, wanted at most 2^31 (int32 ids)`);
  const largest = BigInt(layout.compressedVocabSize) - 1n;
  for (const multiplier of layer.multipliers) {
    if (multiplier < 0n || multiplier * largest >= 1n << 63n) {
      refuse(`multiplier ${multiplier} times id ${largest} does not fit int64`);
    }
  }
}
