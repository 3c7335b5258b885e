import { EngramError } from "../errors.ts";
import type { NgramHasher } from "./ngram_hasher.ts";

/**
 * Hashes one request that comes in chunks of any size; the result does not depend on them.
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
   * `dead` [tokens] is 1 where a token takes no part.
   *
   * @throws an {@linkcode EngramError} that names the index of a bad id; nothing is then taken.
   */
  push(compressedIds: Int32Array, dead?: Uint8Array): Int32Array {
    const tokens = compressedIds.length;
    const first = this.#position;
    if (first + tokens > Number.MAX_SAFE_INTEGER) {
      throw new EngramError("usage", "Cannot hash: the request is longer than 2^53 tokens");
    }
    const positions = new Float64Array(tokens);
    for (let i = 0; i < tokens; i++) positions[i] = first + i;
    const rows = this.#hasher.hash({
      ids: compressedIds,
      positions,
      starts: Int32Array.of(0, tokens),
      ...(dead && { dead }),
      window: this.#window,
      windowDead: this.#windowDead,
      windowDepth: this.#window.length,
    });
    this.#keep(compressedIds, dead);
    this.#position += tokens;
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
