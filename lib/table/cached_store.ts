import { EngramError } from "../errors.ts";
import { RowCache } from "./row_cache.ts";
import type { RowStore } from "./row_store.ts";

/** How often a {@linkcode CachedStore} was asked, and what it had to read. */
export interface CacheCounts {
  /** Rows asked for. */
  readonly requests: number;
  /** Rows that were in the cache. */
  readonly hits: number;
  /** Different rows of each call that had to be read. */
  readonly reads: number;
}

/** A {@linkcode RowStore} with a cache of rows in front of it. */
export interface CachedStore extends RowStore {
  /** Rows that fit in the cache. */
  readonly slots: number;
  /** What was counted so far. */
  readonly counts: CacheCounts;
}

/**
 * Keeps rows of `store` in at most `budget` bytes of memory, bookkeeping included: those asked for
 * again and again stay. The bytes that come out are those of `store`, always. Closing it closes
 * `store`. Calls are taken one after another, so that each finds what the one before has read.
 *
 * @throws an {@linkcode EngramError} of kind `usage` where not a single row fits.
 */
export function cachedStore(store: RowStore, budget: number): CachedStore {
  const slots = slotsIn(budget, store.encoding.recordBytes, store.rows);
  if (slots >= 1) return new Cached(store, slots);
  throw new EngramError(
    "usage",
    `Cannot keep rows in a cache of ${budget} bytes: a row of ${store.encoding.recordBytes} bytes ` +
      `does not fit with its bookkeeping`,
    { hint: "Give the cache more memory" },
  );
}

/** The most rows whose records and bookkeeping fit; no more than there are. */
function slotsIn(budget: number, recordBytes: number, rows: number): number {
  let [fit, over] = [0, Math.min(rows, Math.floor(budget / recordBytes), 2 ** 31 - 1) + 1];
  while (over - fit > 1) {
    const slots = Math.floor((fit + over) / 2);
    if (slots * recordBytes + RowCache.bytes(slots) <= budget) fit = slots;
    else over = slots;
  }
  return fit;
}

class Cached implements CachedStore {
  readonly counts = { requests: 0, hits: 0, reads: 0 };
  readonly #store: RowStore;
  readonly #cache: RowCache;
  readonly #records: Uint8Array;
  #last: Promise<void> = Promise.resolve();

  constructor(store: RowStore, readonly slots: number) {
    this.#store = store;
    this.#cache = new RowCache(slots);
    this.#records = new Uint8Array(slots * store.encoding.recordBytes);
  }

  get encoding() {
    return this.#store.encoding;
  }

  get rows(): number {
    return this.#store.rows;
  }

  get place(): string {
    return `${this.#store.place}, rows cached`;
  }

  readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    const reading = this.#last.then(() => this.#read(ids, out));
    this.#last = reading.catch(() => {});
    return reading;
  }

  close(): void {
    this.#store.close();
  }

  async #read(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    const { recordBytes } = this.encoding;
    if (out.length !== ids.length * recordBytes) return this.#store.readRecords(ids, out);
    const missing = new Int32Array(ids.length);
    let misses = 0;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i];
      // The store says what is wrong with an id that is no row, and where it stands.
      if (!(id >= 0 && id < this.rows) || id % 1 !== 0) return this.#store.readRecords(ids, out);
      const slot = this.#cache.find(id);
      if (slot < 0) missing[misses++] = i;
      else this.#copy(slot, out, i * recordBytes);
    }
    this.counts.requests += ids.length;
    this.counts.hits += ids.length - misses;
    if (misses === 0) return;
    const wanted = new Float64Array(misses);
    for (let i = 0; i < misses; i++) wanted[i] = ids[missing[i]];
    const read = new Uint8Array(misses * recordBytes);
    await this.#store.readRecords(wanted, read);
    for (let i = 0; i < misses; i++) {
      const record = read.subarray(i * recordBytes, (i + 1) * recordBytes);
      out.set(record, missing[i] * recordBytes);
      // Asked for twice in this call: it was put in a slot a moment ago.
      if (this.#cache.find(wanted[i]) >= 0) continue;
      this.counts.reads++;
      this.#records.set(record, this.#cache.insert(wanted[i]) * recordBytes);
    }
  }

  #copy(slot: number, out: Uint8Array, to: number): void {
    const { recordBytes } = this.encoding;
    const from = slot * recordBytes;
    out.set(this.#records.subarray(from, from + recordBytes), to);
  }
}
