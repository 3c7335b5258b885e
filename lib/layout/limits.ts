/** Past 8 lookbacks no engine hashes; 64 leaves room and keeps a token's work bounded. */
export const MAX_NGRAM_SIZE = 64;

/** Primes of all layers together: a search of seconds at most, whatever a config claims. */
export const MAX_PRIMES = 65_536;

/** Bound of the first prime: its buckets alone would be a table of 2^56 bytes. */
export const MAX_VOCAB_SIZE = 2 ** 48;

/** Layer ids seed a generator and end up in names; models have fewer than a thousand layers. */
export const MAX_LAYER_ID = 2 ** 31 - 1;

/** Compressed ids are int32. */
export const MAX_COMPRESSED_VOCAB_SIZE = 2 ** 31;
