/**
 * Hit rates of three ways to keep rows in a cache, on real text: `deno run -A
 * tests/bench/cache_policies.ts TEXT…` (files or folders). The texts' rows in the released layout
 * are replayed through caches of several sizes that drop the row used longest ago (LRU), sieve
 * (SIEVE), or give a second chance (CLOCK, the one the library uses).
 *
 * Measured on the Vim user manual (141,130 tokens, 6.8 M rows asked for) and six modules of Python's
 * library (55,719 tokens), share of requests answered:
 *
 * |      rows | text: LRU | SIEVE | CLOCK | code: LRU | SIEVE | CLOCK |
 * | --------: | --------: | ----: | ----: | --------: | ----: | ----: |
 * |    16,384 |    31.0 % |   8.8 |  31.4 |    18.0 % |  12.7 |  18.6 |
 * |    65,536 |    39.3 % |  15.4 |  39.8 |    25.3 % |  22.1 |  25.9 |
 * |   262,144 |    47.5 % |  27.6 |  47.9 |    34.2 % |  36.3 |  34.9 |
 * | 1,048,576 |    52.8 % |  52.9 |  53.0 |    40.7 % |  40.8 |  40.8 |
 *
 * @module
 */
import { openTokenInput } from "../../cli/token_input.ts";
import { demoTokenizer } from "../../cli/demo/demo_tokenizer.ts";
import { table } from "../../cli/printer.ts";
import { count } from "../../cli/units.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import { RowCache } from "../../lib/table/row_cache.ts";
import { RowIndex } from "../../lib/table/row_index.ts";
import { parseConfig } from "../../lib/checkpoint/parse_config.ts";

interface Policy {
  find(row: number): number;
  insert(row: number): number;
}

/** Drops the row used longest ago. */
class Lru implements Policy {
  readonly #index: RowIndex;
  readonly #rows: Float64Array;
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  #newest = -1;
  #oldest = -1;
  #used = 0;

  constructor(readonly slots: number) {
    this.#index = new RowIndex(slots);
    this.#rows = new Float64Array(slots);
    this.#newer = new Int32Array(slots);
    this.#older = new Int32Array(slots);
  }

  find(row: number): number {
    const slot = this.#index.get(row);
    if (slot >= 0 && slot !== this.#newest) {
      this.#unlink(slot);
      this.#push(slot);
    }
    return slot;
  }

  insert(row: number): number {
    let slot = this.#used;
    if (this.#used < this.slots) this.#used++;
    else {
      slot = this.#oldest;
      this.#unlink(slot);
      this.#index.delete(this.#rows[slot]);
    }
    this.#rows[slot] = row;
    this.#index.set(row, slot);
    this.#push(slot);
    return slot;
  }

  #unlink(slot: number): void {
    const [newer, older] = [this.#newer[slot], this.#older[slot]];
    if (newer >= 0) this.#older[newer] = older;
    else this.#newest = older;
    if (older >= 0) this.#newer[older] = newer;
    else this.#oldest = newer;
  }

  #push(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = -1;
    if (this.#newest >= 0) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
  }
}

/**
 * Rows queue in the order they came; the hand forgives from old to new, but rows stay where they
 * are in the queue (Zhang and others, NSDI 2024).
 */
class Sieve implements Policy {
  readonly slots: number;
  readonly #index: RowIndex;
  readonly #rows: Float64Array;
  readonly #asked: Uint8Array;
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  #newest = -1;
  #oldest = -1;
  #hand = -1;
  #used = 0;

  constructor(slots: number) {
    this.slots = slots;
    this.#index = new RowIndex(slots);
    this.#rows = new Float64Array(slots);
    this.#asked = new Uint8Array(slots);
    this.#newer = new Int32Array(slots);
    this.#older = new Int32Array(slots);
  }

  find(row: number): number {
    const slot = this.#index.get(row);
    if (slot !== -1) this.#asked[slot] = 1;
    return slot;
  }

  insert(row: number): number {
    const slot = this.#used < this.slots ? this.#used++ : this.#evict();
    this.#rows[slot] = row;
    this.#index.set(row, slot);
    this.#asked[slot] = 0;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = -1;
    if (this.#newest !== -1) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
    return slot;
  }

  #evict(): number {
    let slot = this.#hand !== -1 ? this.#hand : this.#oldest;
    while (this.#asked[slot] === 1) {
      this.#asked[slot] = 0;
      slot = this.#newer[slot] !== -1 ? this.#newer[slot] : this.#oldest;
    }
    const [newer, older] = [this.#newer[slot], this.#older[slot]];
    this.#hand = newer;
    if (newer !== -1) this.#older[newer] = older;
    else this.#newest = older;
    if (older !== -1) this.#newer[older] = newer;
    else this.#oldest = newer;
    this.#index.delete(this.#rows[slot]);
    return slot;
  }
}

const POLICIES: Record<string, (slots: number) => Policy> = {
  LRU: (slots) => new Lru(slots),
  SIEVE: (slots) => new Sieve(slots),
  CLOCK: (slots) => new RowCache(slots),
};

const config = parseConfig({
  engram_layer_ids: [1, 14],
  engram_max_ngram_size: 4,
  engram_n_heads: 8,
  engram_head_dim: 256,
  engram_vocab_size: 16_000_000,
  engram_pad_token_id: 2,
}, "the released layout");

const input = await openTokenInput(
  { text: Deno.args },
  { config, tokenizerPath: await demoTokenizer(), place: "bench" },
  {
    signal: new AbortController().signal,
    progress: () => ({ advance() {}, stop() {} }),
    printer: { note: console.error },
  },
);
const hasher = new StreamHasher(new NgramHasher(input.layout, input.padId));
const pieces: Int32Array[] = [];
let tokens = 0;
for await (const { compressedIds, dead, requestStart } of input.chunks()) {
  if (requestStart) hasher.reset();
  pieces.push(hasher.push(compressedIds, dead));
  tokens += compressedIds.length;
}
const { layers, columns } = input.layout;
const requests = new Float64Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
let at = 0;
for (const piece of pieces) {
  for (let i = 0; i < piece.length; i++) {
    const layer = Math.floor(i / columns) % layers.length;
    requests[at++] = piece[i] + (layer === 0 ? 0 : layers[0].rows);
  }
}
console.log(`${count(tokens)} tokens, ${count(requests.length)} rows asked for`);

const rows: (string | number)[][] = [];
for (const slots of [2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20]) {
  for (const [name, make] of Object.entries(POLICIES)) {
    const cache = make(slots);
    let hits = 0;
    const start = performance.now();
    for (const row of requests) {
      if (cache.find(row) >= 0) hits++;
      else cache.insert(row);
    }
    const ns = (performance.now() - start) * 1e6 / requests.length;
    const percent = (100 * hits / requests.length).toFixed(2);
    rows.push([count(slots), name, `${percent} %`, ns.toFixed(0)]);
  }
}
console.log(table(["rows", "policy", "hits", "ns a request"], rows));
