import { RowIndex } from "./row_index.ts";

const NONE = -1;

/**
 * Which rows stay in a cache of a fixed number of slots, by the SIEVE rule (Zhang and others, NSDI
 * 2024): rows queue in the order they came; a hand goes from old to new, forgives each row that was
 * asked for again since it last passed, and drops the first that was not. A row that is asked for
 * only once leaves soon, which most rows of a text are: see `tests/bench/cache_policies.ts` for how
 * it compares.
 */
export class RowCache {
  /** Rows that fit. */
  readonly slots: number;
  readonly #index: RowIndex;
  readonly #rows: Float64Array;
  readonly #asked: Uint8Array;
  /** The queue: towards newer and towards older slots. */
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  #newest = NONE;
  #oldest = NONE;
  #hand = NONE;
  #used = 0;

  /** A cache of `slots` rows, at least 1. */
  constructor(slots: number) {
    this.slots = slots;
    this.#index = new RowIndex(slots);
    this.#rows = new Float64Array(slots);
    this.#asked = new Uint8Array(slots);
    this.#newer = new Int32Array(slots);
    this.#older = new Int32Array(slots);
  }

  /** Bytes of bookkeeping for so many slots. */
  static bytes(slots: number): number {
    return RowIndex.bytes(slots) + slots * (8 + 1 + 4 + 4);
  }

  /** The slot `row` is in, or -1; counts as asking for it. */
  find(row: number): number {
    const slot = this.#index.get(row);
    if (slot !== NONE) this.#asked[slot] = 1;
    return slot;
  }

  /** Gives `row`, which is in no slot, a slot: a free one, or that of the row dropped for it. */
  insert(row: number): number {
    const slot = this.#used < this.slots ? this.#used++ : this.#evict();
    this.#rows[slot] = row;
    this.#index.set(row, slot);
    this.#asked[slot] = 0;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NONE;
    if (this.#newest !== NONE) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
    return slot;
  }

  #evict(): number {
    let slot = this.#hand !== NONE ? this.#hand : this.#oldest;
    while (this.#asked[slot] === 1) {
      this.#asked[slot] = 0;
      slot = this.#newer[slot] !== NONE ? this.#newer[slot] : this.#oldest;
    }
    const [newer, older] = [this.#newer[slot], this.#older[slot]];
    this.#hand = newer;
    if (newer !== NONE) this.#older[newer] = older;
    else this.#newest = older;
    if (older !== NONE) this.#newer[older] = newer;
    else this.#oldest = newer;
    this.#index.delete(this.#rows[slot]);
    return slot;
  }
}
