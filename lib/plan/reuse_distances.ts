import { mixRow, RowIndex } from "../table/row_index.ts";

/** Share of requests a cache of so many rows answers. */
export interface HitRate {
  /** Rows the cache holds. */
  readonly rows: number;
  /** From 0 to 1. */
  readonly hitRate: number;
}

/** Rows followed at once unless told otherwise: some 60 MB. */
const MAX_TRACKED = 2 ** 20;

/** Cache sizes reported in each doubling. */
const STEPS = 4;

/**
 * Hit rates of a cache that drops the row used longest ago, for every size at once, from one pass
 * over the requests: a request is a hit exactly where fewer other rows were asked for since the
 * row's last request than the cache holds.
 *
 * Exact while there are at most `maxTracked` distinct rows. Past that only a share of the rows,
 * chosen by a hash of their numbers, is followed and counted for the others (Waldspurger's SHARDS);
 * the share is halved as often as needed, so that memory stays constant.
 */
export class ReuseDistances {
  /** Requests so far. */
  requests = 0;
  readonly #maxTracked: number;
  /** By row: when it was last asked for, counted in followed requests. */
  #last: RowIndex;
  /** By time: the row asked for. */
  #rows: Float64Array;
  /** Fenwick tree over times: 1 where a row's last request is. */
  #tree: Int32Array;
  #now = 0;
  /** The share followed is 2^-halvings. */
  #halvings = 0;
  /** Requests by the smallest size of a cache that answers them. */
  readonly #bins: number[] = [];
  /** Requests followed, each counted for those it stands for. */
  #counted = 0;

  /** `maxTracked`: rows followed at once. */
  constructor(maxTracked: number = MAX_TRACKED) {
    this.#maxTracked = maxTracked;
    this.#last = new RowIndex();
    const times = Math.min(1024, 2 * maxTracked);
    this.#rows = new Float64Array(times);
    this.#tree = new Int32Array(times + 1);
  }

  /** The share of the rows that is followed; 1 where the result is exact. */
  get share(): number {
    return 2 ** -this.#halvings;
  }

  /** Distinct rows so far; an estimate where the share is below 1. */
  get distinctRows(): number {
    return this.#last.size * 2 ** this.#halvings;
  }

  /** Takes the next request. `row` is an integer from 0 below 2^53. */
  add(row: number): void {
    this.requests++;
    if (!this.#follows(row)) return;
    const weight = 2 ** this.#halvings;
    this.#counted += weight;
    const before = this.#last.get(row);
    if (before >= 0) {
      const others = this.#last.size - this.#upTo(before);
      const bin = binOf(others * weight + 1);
      while (this.#bins.length <= bin) this.#bins.push(0);
      this.#bins[bin] += weight;
      this.#mark(before, -1);
    }
    if (this.#now === this.#rows.length) this.#compact();
    this.#rows[this.#now] = row;
    this.#last.set(row, this.#now);
    this.#mark(this.#now, 1);
    this.#now++;
    while (this.#last.size > this.#maxTracked) {
      this.#halvings++;
      this.#compact();
    }
  }

  /** The curve, ascending, up to a cache that holds every row asked for. */
  hitRates(): HitRate[] {
    const rates: HitRate[] = [];
    if (this.requests === 0) return rates;
    // Rows asked for very often are either followed or not; the difference belongs to the hits of
    // the smallest cache, since such rows are asked for again soon.
    let hits = this.requests - this.#counted;
    for (let bin = 0;; bin++) {
      hits += this.#bins[bin] ?? 0;
      const rows = sizeOf(bin);
      rates.push({ rows, hitRate: Math.min(1, Math.max(0, hits / this.requests)) });
      if (rows >= this.distinctRows) return rates;
    }
  }

  #follows(row: number): boolean {
    // The high bits: the index places rows by the low ones.
    return mixRow(row) < 2 ** (32 - this.#halvings);
  }

  /** Marked times from 0 to `time`. */
  #upTo(time: number): number {
    let sum = 0;
    for (let at = time + 1; at > 0; at -= at & -at) sum += this.#tree[at];
    return sum;
  }

  #mark(time: number, by: number): void {
    for (let at = time + 1; at < this.#tree.length; at += at & -at) this.#tree[at] += by;
  }

  /** Numbers the times anew without those that count no more, and drops rows not followed. */
  #compact(): void {
    const kept: number[] = [];
    for (let time = 0; time < this.#now; time++) {
      const row = this.#rows[time];
      if (this.#last.get(row) === time && this.#follows(row)) kept.push(row);
    }
    // Half of the times must be free, or this would be done too often.
    const most = 2 * this.#maxTracked + 2;
    const times = Math.max(this.#rows.length, Math.min(most, 4 * kept.length));
    this.#rows = new Float64Array(times);
    this.#rows.set(kept);
    this.#now = kept.length;
    this.#last = new RowIndex(kept.length);
    kept.forEach((row, time) => this.#last.set(row, time));
    this.#tree = new Int32Array(times + 1);
    for (let at = 1; at <= times; at++) {
      if (at <= kept.length) this.#tree[at]++;
      const parent = at + (at & -at);
      if (parent <= times) this.#tree[parent] += this.#tree[at];
    }
  }
}

/** Sizes of caches, ascending: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, … */
function sizeOf(bin: number): number {
  const first = STEPS - 1;
  if (bin < first) return bin + 1;
  const [doubling, step] = [Math.floor((bin - first) / STEPS), (bin - first) % STEPS];
  return (STEPS + step) * 2 ** doubling;
}

/** The smallest size that is at least `rows`. */
function binOf(rows: number): number {
  if (rows < STEPS) return rows - 1;
  const doubling = Math.floor(Math.log2(rows / STEPS));
  const bin = STEPS - 1 + STEPS * doubling + Math.ceil(rows / 2 ** doubling) - STEPS;
  return bin;
}
