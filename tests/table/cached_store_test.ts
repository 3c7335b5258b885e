import assert from "node:assert/strict";
import fc from "fast-check";
import { cachedStore } from "../../lib/table/cached_store.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import { RowCache } from "../../lib/table/row_cache.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import type { RowStore } from "../../lib/table/row_store.ts";

const ROWS = 300;
const encoding = rowEncoding("fp8", 64);
const { recordBytes } = encoding;
const records = new Uint8Array(ROWS * recordBytes).map((_, i) => (i * 31 + (i >> 8) * 17) & 255);

/** The rows in memory, and a list of what was asked of them. */
function counted(): { store: RowStore; asked: number[][] } {
  const asked: number[][] = [];
  const inner = memoryStore({ encoding, codes: records });
  return {
    asked,
    store: {
      encoding,
      rows: ROWS,
      place: "memory",
      async readRecords(ids, out) {
        asked.push([...ids]);
        // Other work gets its turn, as with a disk.
        await new Promise((resume) => setTimeout(resume, 0));
        return inner.readRecords(ids, out);
      },
      close() {},
    },
  };
}

function wanted(ids: readonly number[]): Uint8Array {
  return Uint8Array.from(
    ids.flatMap((id) => [...records.subarray(id * recordBytes, (id + 1) * recordBytes)]),
  );
}

/** The smallest budget that fits `slots` rows, found by trying. */
function budgetFor(slots: number): number {
  for (let budget = slots * recordBytes;; budget++) {
    try {
      if (cachedStore(counted().store, budget).slots >= slots) return budget;
    } catch { /* not even one row fits yet */ }
  }
}

/** CLOCK on a plain list: new rows at the end; a row asked for again goes round once more. */
class PlainClock {
  readonly queue: { row: number; asked: boolean }[] = [];

  constructor(readonly size: number) {}

  ask(row: number): boolean {
    const found = this.queue.find((entry) => entry.row === row);
    if (found) {
      found.asked = true;
      return true;
    }
    while (this.queue.length === this.size) {
      const oldest = this.queue.shift()!;
      if (oldest.asked) this.queue.push({ row: oldest.row, asked: false });
    }
    this.queue.push({ row, asked: false });
    return false;
  }
}

Deno.test("rows stay and go by the CLOCK rule", () => {
  const rows = fc.array(fc.integer({ min: 0, max: 14 }), { maxLength: 300 });
  fc.assert(fc.property(fc.integer({ min: 1, max: 8 }), rows, (slots, requests) => {
    const [cache, plain] = [new RowCache(slots), new PlainClock(slots)];
    const held = new Map<number, number>();
    requests.forEach((row, i) => {
      const slot = cache.find(row);
      assert.equal(slot >= 0, plain.ask(row), `request ${i}`);
      if (slot >= 0) assert.equal(held.get(slot), row);
      else held.set(cache.insert(row), row);
      assert.ok(held.size <= slots);
    });
  }));
});

Deno.test("a cache never changes what comes out, whatever its size and the calls", async () => {
  const calls = fc.array(fc.array(fc.integer({ min: 0, max: ROWS - 1 }), { maxLength: 40 }), {
    maxLength: 12,
  });
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 60 }), calls, async (slots, list) => {
    const { store, asked } = counted();
    const cached = cachedStore(store, slots * 400 + 1000);
    const outs = list.map((ids) => new Uint8Array(ids.length * recordBytes));
    // Half of the calls wait for the one before.
    for (const [i, ids] of list.entries()) {
      const done = cached.readRecords(Int32Array.from(ids), outs[i]);
      if (i % 2) await done;
    }
    await cached.readRecords(new Int32Array(0), new Uint8Array(0));
    list.forEach((ids, i) => assert.deepEqual(outs[i], wanted(ids)));
    const { requests, hits, reads } = cached.counts;
    assert.equal(requests, list.flat().length);
    assert.equal(requests - hits, asked.flat().length);
    assert.ok(reads <= asked.flat().length);
  }));
});

Deno.test("with room for all rows each is read once", async () => {
  const { store, asked } = counted();
  const cached = cachedStore(store, 10 ** 6);
  assert.equal(cached.slots, ROWS);
  for (const ids of [[5, 6, 5], [6, 7, 5], [7, 5, 6]]) {
    await cached.readRecords(Float64Array.from(ids), new Uint8Array(3 * recordBytes));
  }
  assert.deepEqual(asked, [[5, 6, 5], [7]]);
  assert.deepEqual(cached.counts, { requests: 9, hits: 5, reads: 3 });
});

Deno.test("the budget covers records and bookkeeping; less than a row is refused", () => {
  for (const slots of [1, 8, 100]) {
    const budget = budgetFor(slots);
    assert.ok(budget >= slots * recordBytes + RowCache.bytes(slots), `${slots} rows`);
  }
  assert.throws(() => cachedStore(counted().store, recordBytes), /Cannot keep rows in a cache/);
});

Deno.test("an id that is no row fails as it does without a cache, and spoils nothing", async () => {
  const { store } = counted();
  const cached = cachedStore(store, 10 ** 5);
  const out = new Uint8Array(2 * recordBytes);
  await cached.readRecords(Int32Array.of(3, 3), out);
  for (const bad of [-1, ROWS, 0.5, NaN, 2 ** 31, 2 ** 53]) {
    await assert.rejects(
      cached.readRecords(Float64Array.of(3, bad), out),
      /row number 1 is .*, wanted an integer from 0 to 299/,
    );
  }
  await assert.rejects(cached.readRecords(Int32Array.of(3), out), /found room for/);
  await cached.readRecords(Int32Array.of(3, 299), out);
  assert.deepEqual(out, wanted([3, 299]));
});
