import { seedSequence } from "./seed_sequence.ts";

const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const MASK_128 = (1n << 128n) - 1n;
const MASK_64 = (1n << 64n) - 1n;

/**
 * numpy's `PCG64` (XSL-RR 128/64) as `default_rng(seed)` makes it, bit for bit.
 *
 * @example
 * ```ts
 * import { Pcg64 } from "./pcg64.ts";
 *
 * const word: bigint = new Pcg64(10007n).next64();
 * ```
 */
export class Pcg64 {
  #state: bigint;
  readonly #increment: bigint;
  /** The upper half of the last word drawn for {@linkcode next32}, while it is unused. */
  #half: bigint | undefined;

  /** Seeds by `SeedSequence(seed)`; `seed` is any non-negative integer. */
  constructor(seed: bigint) {
    const [stateHigh, stateLow, streamHigh, streamLow] = seedSequence(seed, 4);
    this.#increment = (((streamHigh << 64n) | streamLow) << 1n | 1n) & MASK_128;
    // The reference steps once from zero, adds the seed and steps again.
    this.#state = (this.#increment + ((stateHigh << 64n) | stateLow)) & MASK_128;
    this.#step();
  }

  #step(): void {
    this.#state = (this.#state * MULTIPLIER + this.#increment) & MASK_128;
  }

  /** The next 64 random bits. */
  next64(): bigint {
    this.#step();
    const folded = (this.#state >> 64n) ^ (this.#state & MASK_64);
    const turn = this.#state >> 122n;
    return ((folded >> turn) | (folded << (64n - turn))) & MASK_64;
  }

  /** The next 32 random bits: the lower half of a word first, its upper half on the next call. */
  next32(): bigint {
    const half = this.#half;
    if (half !== undefined) {
      this.#half = undefined;
      return half;
    }
    const word = this.next64();
    this.#half = word >> 32n;
    return word & 0xffffffffn;
  }

  /**
   * A uniform integer of 0 … `bound` - 1, as `Generator.integers(0, bound, dtype=int64)` draws it:
   * Lemire's method, on 32-bit draws where `bound - 1` fits 32 bits. Bound 1 draws nothing.
   * `bound` is from 1 to 2^63.
   */
  below(bound: bigint): bigint {
    if (bound === 1n) return 0n;
    const bits = bound - 1n <= 0xffffffffn ? 32n : 64n;
    const draw = () => (bits === 32n ? this.next32() : this.next64());
    const range = 1n << bits;
    // The whole 32-bit range needs no product; Lemire's gives the same there, with threshold 0.
    const threshold = (range - bound) % bound;
    let product: bigint;
    do product = draw() * bound; while ((product & (range - 1n)) < threshold);
    return product >> bits;
  }
}
