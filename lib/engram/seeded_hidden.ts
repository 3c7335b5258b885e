import { toBf16 } from "../table/bf16.ts";
import type { HiddenSource } from "./hidden_source.ts";

/**
 * A made-up residual stream that anyone can make again: element `i` of layer `l` under `seed`, in
 * flat order [token, copy, value], is
 *
 * ```text
 * mix(x) = murmur3's 32-bit finalizer: x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13;
 *          x *= 0xc2b2ae35; x ^= x >> 16, all modulo 2^32
 * u = mix(mix(mix(mix(seed) ^ l) ^ floor(i / 2^32)) ^ (i mod 2^32))
 * value = floor(u / 2^8) / 2^23 - 1, rounded to the nearest even bf16
 * ```
 *
 * so values are even over [-1, 1]. It depends on nothing but the element's own place, so batches
 * of any size agree.
 */
export class SeededHidden implements HiddenSource {
  /** For people. */
  readonly description: string;
  /** Any. */
  readonly tokens = null;
  readonly #seed: number;
  readonly #width: number;

  /** A stream of `copies` times `hidden` values a token; `seed` is an integer from 0 below 2^32. */
  constructor(seed: number, copies: number, hidden: number) {
    this.description = `seed ${seed}`;
    this.#seed = mix(seed);
    this.#width = copies * hidden;
  }

  /** bf16 [tokens, copies, hidden] of the tokens from `first` on. */
  // deno-lint-ignore require-await -- the seam is asynchronous for files' sake
  async read(layerId: number, first: number, tokens: number): Promise<Uint16Array> {
    const values = new Uint16Array(tokens * this.#width);
    const layer = mix(this.#seed ^ layerId);
    const start = first * this.#width;
    let high = -1;
    let upper = 0;
    for (let i = 0; i < values.length; i++) {
      const at = start + i;
      const above = Math.floor(at / 2 ** 32);
      if (above !== high) upper = mix(layer ^ (high = above));
      const u = mix(upper ^ (at - above * 2 ** 32));
      values[i] = toBf16((u >>> 8) / 2 ** 23 - 1);
    }
    return values;
  }

  /** Nothing to close. */
  close(): void {}
}

/** murmur3's 32-bit finalizer. */
function mix(x: number): number {
  let h = x ^ (x >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
