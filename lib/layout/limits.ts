/** Primes of all layers together, ten times any model's: a search of seconds, whatever a config says. */
export const MAX_PRIMES = 16_384;

/** Bound of the first prime: its buckets alone would be a table of 2^56 bytes. */
export const MAX_VOCAB_SIZE = 2 ** 48;

/** Compressed ids are int32. */
export const MAX_COMPRESSED_VOCAB_SIZE = 2 ** 31;
