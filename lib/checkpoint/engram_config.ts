/**
 * What a model's config says about its Engram layers; sizes in elements, ids as token ids.
 *
 * A field that the config leaves out and that has no null here throws an `EngramError` naming its
 * key when it is read: a layout can be had from a config that says nothing about the gate.
 */
export interface EngramConfig {
  /** Where the config was read from, for messages. */
  readonly where: string;
  /** The decoder layers that carry an Engram table, in the order the primes are drawn. */
  readonly layerIds: readonly number[];
  /** Rows of each layer's table (the sum of its primes), where the config says so. */
  readonly numEmbeddings: readonly number[] | null;
  /** Longest n-gram hashed; n-grams of 2 … this. */
  readonly maxNgramSize: number;
  /** Hash heads for each n-gram size. */
  readonly nHeads: number;
  /** Values in a row. */
  readonly headDim: number;
  /** Bound the first prime is drawn above (`engram_vocab_size`). */
  readonly vocabSize: number;
  /** Distinct keys of the compressed token map, where the config says so. */
  readonly compressedVocabSize: number | null;
  /** The padding token, as a token id (not compressed). */
  readonly padTokenId: number;
  /** Token ids that take no part in n-grams (image tokens). */
  readonly deadTokenIds: readonly number[];
  /** Width of the residual stream. */
  readonly hiddenSize: number;
  /** Copies of the residual stream (hyper-connections). */
  readonly hcMult: number;
  /** Epsilon of the root-mean-square norms. */
  readonly rmsNormEps: number;
  /** Rows and columns of the tile that shares one weight scale. */
  readonly weightBlockSize: readonly [number, number];
  /** How the config says weights are quantized (`fp8`); absent where it does not say. */
  readonly quantMethod?: string;
}
