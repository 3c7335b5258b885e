/** Layers with a table: more than any model has layers; bounds the primes to be searched. */
export const MAX_LAYERS = 4096;

/** Layer ids seed a generator and end up in tensor names. */
export const MAX_LAYER_ID = 2 ** 31 - 1;

/** Past 8 lookbacks no engine hashes; 64 leaves room and keeps a token's work bounded. */
export const MAX_NGRAM_SIZE = 64;

/** Heads of one n-gram size: 8 in the released model. */
export const MAX_HEADS = 4096;

/** Values in a row: a row of more would be larger than a memory page and no longer a row. */
export const MAX_HEAD_DIM = 65_536;

/** Rows are numbered by int32 in every engine, so tables and buckets stay below 2^31. */
export const MAX_ROWS = 2 ** 31 - 1;

/** Token ids and compressed ids are int32. */
export const MAX_TOKEN_ID = 2 ** 31 - 1;

/** Width of the stream: 100 times the widest model's. */
export const MAX_HIDDEN = 2 ** 20;

/** Copies of the stream: 4 in the released model. */
export const MAX_COPIES = 1024;

/** A config is some kilobytes; quantization lists can make it megabytes. */
export const MAX_CONFIG_BYTES = 64 * 2 ** 20;

/** An index of half a million tensors is 60 MB; past this it would not fit a string. */
export const MAX_INDEX_BYTES = 500_000_000;
