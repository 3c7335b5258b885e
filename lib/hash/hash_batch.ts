/**
 * A batch of requests to hash, as a serving engine hands it over. Ids are *compressed* ids.
 * Lengths: T tokens, R requests, W = window depth.
 */
export interface HashBatch {
  /** Compressed id of each token, [T]. */
  readonly ids: Int32Array;
  /** Position of each token in its request, [T]; below 2^53. */
  readonly positions: Float64Array | Int32Array;
  /** First token of each request and the end, [R + 1]; repeated boundaries are padding. */
  readonly starts: Int32Array;
  /** 1 where the token takes no part in n-grams, [T]; absent means none. */
  readonly dead?: Uint8Array;
  /** Compressed id of the tokens before each chunk, nearest first, [R, W]; negative when unknown. */
  readonly window?: Int32Array;
  /** 1 where a window token takes no part, [R, W]. */
  readonly windowDead?: Uint8Array;
  /** W; 0 without a window. */
  readonly windowDepth: number;
  /** KV slot of each token, negative for none, [T]; only with a slot cache. */
  readonly slots?: Int32Array;
  /** Cache blocks of each request, [R, blocksPerRequest]; only with a slot cache. */
  readonly blockTable?: Int32Array;
}
