import { EngramError } from "../errors.ts";
import type { HashBatch } from "./hash_batch.ts";
import { DEAD, type SlotCache } from "./slot_cache.ts";

/** A token nobody knows: hashed as padding, but what lies behind it still counts. */
const UNKNOWN = -2;

/**
 * Finds the compressed id each lookback of a token hashes: from the chunk, before it from the
 * window, else from the slot cache, else padding. The batch must have been checked.
 */
export class LookbackSources {
  readonly #batch: HashBatch;
  readonly #padId: number;
  readonly #cache: SlotCache | undefined;
  readonly #blocks: number;

  /** Reads from `batch`, and from `cache` what the batch does not hold. */
  constructor(batch: HashBatch, padId: number, cache?: SlotCache) {
    this.#batch = batch;
    this.#padId = padId;
    this.#cache = cache;
    const requests = batch.starts.length - 1;
    this.#blocks = cache && requests ? batch.blockTable!.length / requests : 0;
  }

  /**
   * Writes the sources of the token at index `token`, in `request`, to `into`: for each lookback
   * 0 … into.length - 1 a compressed id, or the pad id.
   */
  read(request: number, token: number, into: Int32Array): void {
    const { ids, dead, positions, starts } = this.#batch;
    const position = positions[token];
    const inChunk = token - starts[request];
    let back = 0;
    for (; back < into.length && back <= position; back++) {
      let source: number;
      if (back > inChunk) source = this.#before(request, back - inChunk - 1, position - back);
      else if (dead && dead[token - back]) source = DEAD;
      else source = ids[token - back];
      if (source === DEAD) break;
      into[back] = source === UNKNOWN ? this.#padId : source;
    }
    // Behind a dead token or the request's start everything is padding.
    for (; back < into.length; back++) into[back] = this.#padId;
  }

  /** The token at `position`, `distance` tokens before the one just ahead of the chunk. */
  #before(request: number, distance: number, position: number): number {
    const { window, windowDead, windowDepth } = this.#batch;
    if (window && distance < windowDepth) {
      const at = request * windowDepth + distance;
      if (windowDead && windowDead[at]) return DEAD;
      if (window[at] >= 0) return window[at];
    }
    return this.#cache ? this.#cached(this.#cache, request, position) : UNKNOWN;
  }

  #cached(cache: SlotCache, request: number, position: number): number {
    const { slots, blockSize } = cache;
    const block = Math.floor(position / blockSize);
    const where = block < this.#blocks
      ? this.#batch.blockTable![request * this.#blocks + block]
      : undefined;
    if (where === undefined || where < 0 || (where + 1) * blockSize > slots.length) {
      throw new EngramError(
        "malformed",
        `Cannot hash batch: position ${position} of request ${request} is needed from the slot ` +
          `cache, but blockTable[${request}][${block}] is ${where ?? "past its end"}, ` +
          `wanted from 0, below ${slots.length / blockSize} blocks`,
      );
    }
    return slots[where * blockSize + (position % blockSize)];
  }
}
