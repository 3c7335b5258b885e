import { RowIndex } from "./row_index.ts";

/**
 * Which rows stay in a cache of a fixed number of slots, by the CLOCK rule: a hand goes round the
 * slots, forgives each row that was asked for again since it last passed, and drops the first that
 * was not. Most rows of a text are asked for only once and leave at the hand's next pass.
 *
 * On texts and code it keeps slightly more of the right rows than dropping the one used longest
 * ago, for less work; SIEVE, which holds on to what was popular once, does far worse where texts
 * change their subject: see `tests/bench/cache_policies.ts`.
 */
export class RowCache {
  /** Rows that fit. */
  readonly slots: number;
  readonly #index: RowIndex;
  readonly #rows: Float64Array;
  readonly #asked: Uint8Array;
  #used = 0;
  #hand = 0;

  /** A cache of `slots` rows, at least 1. */
  constructor(slots: number) {
    this.slots = slots;
    this.#index = new RowIndex(slots);
    this.#rows = new Float64Array(slots);
    this.#asked = new Uint8Array(slots);
  }

  /** Bytes of bookkeeping for so many slots. */
  static bytes(slots: number): number {
    return RowIndex.bytes(slots) + slots * (8 + 1);
  }

  /** The slot `row` is in, or -1; counts as asking for it. */
  find(row: number): number {
    const slot = this.#index.get(row);
    if (slot >= 0) this.#asked[slot] = 1;
    return slot;
  }

  /** Gives `row`, which is in no slot, a slot: a free one, or that of the row dropped for it. */
  insert(row: number): number {
    const slot = this.#used < this.slots ? this.#used++ : this.#evict();
    this.#rows[slot] = row;
    this.#asked[slot] = 0;
    this.#index.set(row, slot);
    return slot;
  }

  #evict(): number {
    while (this.#asked[this.#hand] === 1) {
      this.#asked[this.#hand] = 0;
      this.#advance();
    }
    const slot = this.#hand;
    this.#advance();
    this.#index.delete(this.#rows[slot]);
    return slot;
  }

  #advance(): void {
    this.#hand = this.#hand + 1 === this.slots ? 0 : this.#hand + 1;
  }
}
