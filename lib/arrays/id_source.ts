/** Some token ids of one request, in order. */
export interface IdChunk {
  /** Token ids, each from 0 to 2^31 - 1. */
  readonly ids: Int32Array;
  /** 1 where the token takes no part in n-grams; absent where the file does not say. */
  readonly dead?: Uint8Array;
  /** Whether a request begins with this chunk. */
  readonly requestStart: boolean;
}

/** Ids of a chunk: work on fewer would cost mostly calls, and more would leave the cache. */
export const CHUNK_IDS: number = 2 ** 16;

/** A file of token ids, read in chunks whatever its size. */
export interface IdSource {
  /** Path or URL. */
  readonly name: string;
  /** Begins the ids; every request starts with a chunk of its own, perhaps of no ids. */
  chunks(): AsyncGenerator<IdChunk>;
  /** Closes the file. */
  close(): void;
}
