import type { NgramHasher } from "./ngram_hasher.ts";
import { RequestStream } from "./request_stream.ts";

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
  readonly #requests: RequestStream;

  /** Starts at position 0 of a request. */
  constructor(hasher: NgramHasher) {
    this.#hasher = hasher;
    this.#requests = new RequestStream(hasher.layout.maxNgramSize - 1);
  }

  /** Tokens hashed so far in this request: the position of the next one. */
  get position(): number {
    return this.#requests.position;
  }

  /** Ends the request; the next token is at position 0 of another. */
  reset(): void {
    this.#requests.reset();
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
    const batch = this.#requests.batch(compressedIds, dead, starts);
    const rows = this.#hasher.hash(batch);
    this.#requests.take(batch);
    return rows;
  }
}
