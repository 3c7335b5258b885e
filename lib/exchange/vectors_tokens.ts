import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { VECTOR_TEXTS } from "./vector_texts.ts";

/** The vectors' tokens: every text a request. */
export interface VectorTokens {
  /** Token ids of all texts, one after another. */
  readonly tokenIds: Int32Array;
  /** First token of each request; repeated where one has none. */
  readonly starts: readonly number[];
  /** Marks for the case with dead tokens: pairs, single ones, the first and the last of a request. */
  readonly dead: Uint8Array;
}

/** Tokenizes the vectors' texts. */
export async function vectorTokens(tokenizer: Tokenizer): Promise<VectorTokens> {
  const texts = await tokenizer.encodeBatch(VECTOR_TEXTS.map(([, text]) => text));
  const starts: number[] = [];
  const tokenIds: number[] = [];
  const dead: number[] = [];
  texts.forEach((ids, request) => {
    starts.push(tokenIds.length);
    tokenIds.push(...ids);
    ids.forEach((_, position) => {
      const edge = request % 4 === 1 && (position === 0 || position === ids.length - 1);
      dead.push(Number(edge || position % 7 === 3 || position % 14 === 4));
    });
  });
  return { tokenIds: Int32Array.from(tokenIds), starts, dead: Uint8Array.from(dead) };
}
