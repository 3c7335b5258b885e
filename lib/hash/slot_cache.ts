import { EngramError } from "../errors.ts";

/** What a slot holds, and a lookback's source is, where the token takes no part in n-grams. */
export const DEAD: -1 = -1;

/**
 * The compressed ids of the tokens in a KV cache: one int32 for each slot, an id or
 * {@linkcode DEAD}. It follows the KV cache it is bound to.
 *
 * @example
 * ```ts
 * import { SlotCache } from "./slot_cache.ts";
 *
 * const cache = new SlotCache();
 * if (cache.bound) throw new Error("bound to nothing yet, so nothing is hashed");
 * const kvCache = {};
 * cache.bind(kvCache, 100, 16);
 * if (cache.slots.length !== 1600) throw new Error("one id for each slot");
 * ```
 */
export class SlotCache {
  #owner: object | null = null;
  #slots: Int32Array = new Int32Array(0);
  #blockSize = 0;

  /** Whether a KV cache is bound. Without one, hashing through this cache gives nothing. */
  get bound(): boolean {
    return this.#owner !== null;
  }

  /** Every slot's compressed id or {@linkcode DEAD}, [blocks * blockSize]; empty while unbound. */
  get slots(): Int32Array {
    return this.#slots;
  }

  /** Slots in a block; 0 while unbound. */
  get blockSize(): number {
    return this.#blockSize;
  }

  /**
   * Follows `kvCache`, known by its identity, of `blocks` blocks of `blockSize` slots. Binding the
   * one already bound keeps the history; another, or other sizes, discards it and starts from zeros.
   *
   * @throws an {@linkcode EngramError} of kind `usage` when a size is not an integer of 1 or more,
   * or the slots exceed 2^31.
   */
  bind(kvCache: object, blocks: number, blockSize: number): void {
    const slots = blocks * blockSize;
    const whole = Number.isSafeInteger(blocks) && Number.isSafeInteger(blockSize);
    if (!whole || blocks < 1 || blockSize < 1 || slots > 2 ** 31) {
      throw new EngramError(
        "usage",
        `Cannot bind a slot cache: ${blocks} blocks of ${blockSize} slots, ` +
          "wanted integers of 1 or more and at most 2^31 slots",
      );
    }
    const same = kvCache === this.#owner && slots === this.#slots.length &&
      blockSize === this.#blockSize;
    if (same) return;
    this.#owner = kvCache;
    this.#slots = new Int32Array(slots);
    this.#blockSize = blockSize;
  }

  /** Lets go of the KV cache and of the history. */
  unbind(): void {
    this.#owner = null;
    this.#slots = new Int32Array(0);
    this.#blockSize = 0;
  }
}
