import { EngramError } from "../errors.ts";
import type { NgramHasher } from "./ngram_hasher.ts";

/**
 * Hashes requests one after another that come in chunks of any size; the result does not depend on
 * how they are cut.
 *
 * @example
 * ```ts
 * import type { NgramHasher } from "./ngram_hasher.ts";
 * import { StreamHasher } from "./stream_hasher.ts";
 *
 * function hashAll(hasher: NgramHasher, chunks: Int32Array[]): Int32Array[] {
 *   const stream = new StreamHasher(hasher);
 *   return chunks.map((chunk) => stream.push(chunk));
 * }
 * ```
 */
export class StreamHasher {
  readonly #hasher: NgramHasher;
  readonly #window: Int32Array;
  readonly #windowDead: Uint8Array;
  #position = 0;

  /** Starts at position 0 of a request. */
  constructor(hasher: NgramHasher) {
    const depth = hasher.layout.maxNgramSize - 1;
    this.#hasher = hasher;
    this.#window = new Int32Array(depth);
    this.#windowDead = new Uint8Array(depth);
  }

  /** Tokens hashed so far in this request: the position of the next one. */
  get position(): number {
    return this.#position;
  }

  /** Ends the request; the next token is at position 0 of another. */
  reset(): void {
    this.#position = 0;
  }

  /**
   * Rows of the next tokens, int32 [tokens, layers, columns]. `compressedIds` [tokens];
   * `dead` [tokens] is 1 where a token takes no part. `starts` are the indices, ascending, of the
   * tokens that begin another request, like {@linkcode StreamHasher.reset} before them.
   *
   * @throws an {@linkcode EngramError} that names the index of a bad id; nothing is then taken.
   */
  push(
    compressedIds: Int32Array,
    dead?: Uint8Array,
    starts: readonly number[] = [],
  ): Int32Array {
    const tokens = compressedIds.length;
    const positions = positionsOf(tokens, this.#position, starts);
    // One request is enough: no lookback reaches behind a position of 0.
    const rows = this.#hasher.hash({
      ids: compressedIds,
      positions: positions.subarray(0, tokens),
      starts: Int32Array.of(0, tokens),
      ...(dead && { dead }),
      window: this.#window,
      windowDead: this.#windowDead,
      windowDepth: this.#window.length,
    });
    this.#keep(compressedIds, dead);
    this.#position = positions[tokens];
    return rows;
  }

  /** Moves the window, nearest token first, to the end of what was pushed. */
  #keep(ids: Int32Array, dead?: Uint8Array): void {
    const window = this.#window;
    for (let back = window.length - 1; back >= 0; back--) {
      const at = ids.length - 1 - back;
      const from = back - ids.length;
      window[back] = at >= 0 ? ids[at] : window[from];
      this.#windowDead[back] = at >= 0 ? dead?.[at] ?? 0 : this.#windowDead[from];
    }
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
