/**
 * A batch of requests to hash, as a serving engine hands it over. Ids are *compressed* ids.
 * Lengths: T tokens, R requests, W = window depth, B = blocks of a request in the block table.
 */
export interface HashBatch {
  /** Compressed id of each token, [T]; that of a dead token is not looked at. */
  readonly ids: Int32Array;
  /** Position of each token in its request, [T]; whole, from 0 to 2^53 - 1. */
  readonly positions: Float64Array | Int32Array;
  /** First token of each request and the end, [R + 1], from 0 to T; repeated boundaries are padding. */
  readonly starts: Int32Array;
  /** 1 where the token takes no part in n-grams, [T]; absent means none. */
  readonly dead?: Uint8Array;
  /** Compressed id of the tokens before each chunk, nearest first, [R, W]; negative when unknown. */
  readonly window?: Int32Array;
  /** 1 where a window token takes no part (whether its id is known or not), [R, W]. */
  readonly windowDead?: Uint8Array;
  /** W; 0 without a window. */
  readonly windowDepth: number;
  /** KV slot of each token, negative for none, [T]; only with a slot cache. */
  readonly slots?: Int32Array;
  /** Cache blocks of each request, [R, B]; only with a slot cache. */
  readonly blockTable?: Int32Array;
}
