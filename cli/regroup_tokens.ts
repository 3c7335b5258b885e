import type { TokenChunk } from "./token_input.ts";
import type { SpooledTokens } from "./token_spool.ts";

/** Tokens in pieces of `most`, the last shorter; several requests may begin in one piece. */
export async function* regroupTokens(
  chunks: AsyncIterable<TokenChunk>,
  most: number,
): AsyncGenerator<SpooledTokens> {
  let piece = new Piece(most);
  for await (const chunk of chunks) {
    if (chunk.requestStart) piece.starts.push(piece.length);
    for (let from = 0; from < chunk.tokenIds.length;) {
      from += piece.take(chunk, from);
      if (piece.length < most) continue;
      yield piece.tokens();
      piece = new Piece(most);
    }
  }
  if (piece.length > 0 || piece.starts.length > 0) yield piece.tokens();
}

class Piece {
  readonly starts: number[] = [];
  length = 0;
  readonly #ids: Int32Array;
  readonly #dead: Uint8Array;

  constructor(most: number) {
    this.#ids = new Int32Array(most);
    this.#dead = new Uint8Array(most);
  }

  /** Takes tokens of `chunk` from index `from` on while there is room; returns how many. */
  take({ tokenIds, dead }: TokenChunk, from: number): number {
    const count = Math.min(tokenIds.length - from, this.#ids.length - this.length);
    this.#ids.set(tokenIds.subarray(from, from + count), this.length);
    this.#dead.set(dead.subarray(from, from + count), this.length);
    this.length += count;
    return count;
  }

  tokens(): SpooledTokens {
    const tokenIds = this.#ids.slice(0, this.length);
    return { tokenIds, dead: this.#dead.slice(0, this.length), starts: this.starts };
  }
}
