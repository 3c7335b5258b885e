import { EngramError } from "../errors.ts";
import type { HashBatch } from "./hash_batch.ts";

/**
 * Cuts requests that come one after another, in chunks of any size, into batches to hash: each
 * carries what its first tokens look back to.
 *
 * @example
 * ```ts
 * import { RequestStream } from "./request_stream.ts";
 *
 * const stream = new RequestStream(3);
 * const first = stream.batch(Int32Array.of(10, 11));
 * stream.take(first);
 * const second = stream.batch(Int32Array.of(12));
 * if (second.positions[0] !== 2) throw new Error("goes on where the first ended");
 * ```
 */
export class RequestStream {
  #window: Int32Array;
  #windowDead: Uint8Array;
  #position = 0;
  /** Position behind the batch last asked for. */
  #next = 0;

  /** Starts at position 0 of a request; `depth` tokens are looked back to. */
  constructor(depth: number) {
    this.#window = new Int32Array(depth);
    this.#windowDead = new Uint8Array(depth);
  }

  /** Tokens taken so far in this request: the position of the next one. */
  get position(): number {
    return this.#position;
  }

  /** Ends the request; the next token is at position 0 of another. */
  reset(): void {
    this.#position = 0;
  }

  /**
   * The next tokens as a batch, without moving on. `compressedIds` [tokens]; `dead` [tokens] is 1
   * where a token takes no part. `starts` are the indices, ascending, of the tokens that begin
   * another request, like {@linkcode RequestStream.reset} before them.
   */
  batch(
    compressedIds: Int32Array,
    dead?: Uint8Array,
    starts: readonly number[] = [],
  ): HashBatch {
    const tokens = compressedIds.length;
    const positions = positionsOf(tokens, this.#position, starts);
    this.#next = positions[tokens];
    return {
      ids: compressedIds,
      positions: positions.subarray(0, tokens),
      // One request is enough: no lookback reaches behind a position of 0.
      starts: Int32Array.of(0, tokens),
      ...(dead && { dead }),
      window: this.#window,
      windowDead: this.#windowDead,
      windowDepth: this.#window.length,
    };
  }

  /** Moves on behind `batch`, which was the last one asked for. */
  take({ ids, dead }: HashBatch): void {
    const depth = this.#window.length;
    const window = new Int32Array(depth);
    const windowDead = new Uint8Array(depth);
    for (let back = 0; back < depth; back++) {
      const at = ids.length - 1 - back;
      const from = back - ids.length;
      window[back] = at >= 0 ? ids[at] : this.#window[from];
      windowDead[back] = at >= 0 ? dead?.[at] ?? 0 : this.#windowDead[from];
    }
    // New arrays: a batch under way may still be reading the old ones.
    this.#window = window;
    this.#windowDead = windowDead;
    this.#position = this.#next;
  }
}

/** Positions of `tokens` tokens from `first` on, and of the one after them, [tokens + 1]. */
function positionsOf(tokens: number, first: number, starts: readonly number[]): Float64Array {
  const positions = new Float64Array(tokens + 1);
  let next = 0;
  for (let i = 0, position = first; i <= tokens; i++, position++) {
    // Several requests begin at one place where those between have no tokens.
    while (starts[next] === i) {
      position = 0;
      next++;
    }
    positions[i] = position;
  }
  if (next === starts.length) return positions;
  throw new EngramError(
    "usage",
    `Cannot hash: request starts are ${starts.join(", ")}, ` +
      `wanted ascending indices of at most ${tokens}`,
  );
}
