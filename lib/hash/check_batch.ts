import { EngramError } from "../errors.ts";
import type { HashBatch } from "./hash_batch.ts";
import type { SlotCache } from "./slot_cache.ts";

/**
 * Checks a batch whole, before anything of it is used: lengths, boundaries, positions, and that
 * every live id is below `vocabSize`. With a cache, slots and block table must fit it.
 *
 * @throws an {@linkcode EngramError} that names the array, the index and the value.
 */
export function checkBatch(batch: HashBatch, vocabSize: number, cache?: SlotCache): void {
  const { ids, positions, starts, dead, window, windowDead, windowDepth } = batch;
  const tokens = ids.length;
  const requests = starts.length - 1;
  checkStarts(starts, tokens);
  checkLength("positions", positions.length, tokens);
  if (dead) checkLength("dead", dead.length, tokens);
  if (!Number.isSafeInteger(windowDepth) || windowDepth < 0) {
    fail(`windowDepth is ${windowDepth}, wanted an integer of 0 or more`);
  }
  checkLength("window", window?.length ?? 0, windowDepth * requests);
  if (windowDead) checkLength("windowDead", windowDead.length, windowDepth * requests);
  for (let t = 0; t < tokens; t++) {
    const id = ids[t];
    if ((id < 0 || id >= vocabSize) && !dead?.[t]) failId("ids", t, id, vocabSize);
    const position = positions[t];
    // NaN fails the first comparison.
    if (!(position >= 0) || position > Number.MAX_SAFE_INTEGER || position % 1 !== 0) {
      fail(`positions[${t}] is ${position}, wanted an integer from 0 to 2^53 - 1`);
    }
  }
  window?.forEach((id, i) => {
    if (id >= vocabSize && !windowDead?.[i]) failId("window", i, id, vocabSize);
  });
  if (cache) checkSlots(batch, cache, requests);
}

function checkStarts(starts: Int32Array, tokens: number): void {
  if (starts.length === 0) fail("starts is empty, wanted the first boundary at least");
  if (starts[0] !== 0) fail(`starts[0] is ${starts[0]}, wanted 0`);
  for (let r = 1; r < starts.length; r++) {
    if (starts[r] < starts[r - 1]) {
      fail(`starts[${r}] is ${starts[r]}, wanted ${starts[r - 1]} or more`);
    }
  }
  const end = starts[starts.length - 1];
  if (end !== tokens) fail(`starts ends at ${end}, wanted ${tokens}, the count of tokens`);
}

function checkSlots(batch: HashBatch, cache: SlotCache, requests: number): void {
  const { slots, blockTable } = batch;
  if (!slots || !blockTable) {
    throw new EngramError(
      "usage",
      `Cannot hash batch: it has no ${slots ? "blockTable" : "slots"}, wanted with a slot cache`,
    );
  }
  checkLength("slots", slots.length, batch.ids.length);
  if (requests ? blockTable.length % requests : blockTable.length) {
    fail(`blockTable has length ${blockTable.length}, wanted a multiple of ${requests} requests`);
  }
  const count = cache.slots.length;
  slots.forEach((slot, t) => {
    if (slot >= count) fail(`slots[${t}] is ${slot}, wanted below ${count}, the cache's slots`);
  });
}

function checkLength(name: string, found: number, wanted: number): void {
  if (found !== wanted) fail(`${name} has length ${found}, wanted ${wanted}`);
}

function failId(name: string, index: number, id: number, vocabSize: number): never {
  const least = name === "window" ? "below" : "from 0, below";
  fail(`${name}[${index}] is ${id}, wanted ${least} the compressed vocabulary of ${vocabSize}`);
}

function fail(what: string): never {
  throw new EngramError("malformed", `Cannot hash batch: ${what}`);
}
