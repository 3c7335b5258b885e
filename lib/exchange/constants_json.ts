import type { Constants } from "./constants.ts";

/**
 * Constants as a JSON text. Multipliers are decimal strings: int64 does not survive readers that
 * keep numbers as doubles.
 */
export function constantsJson(constants: Constants): string {
  const { layout, tokenMap } = constants;
  const value = {
    format: "engram-constants",
    layer_ids: layout.layers.map(({ layerId }) => layerId),
    n_heads: layout.nHeads,
    head_dim: constants.headDim,
    max_ngram_size: layout.maxNgramSize,
    vocab_size: constants.vocabSize,
    num_embeddings: layout.layers.map(({ rows }) => rows),
    pad_token_id: constants.padTokenId,
    compressed_pad_id: constants.compressedPadId,
    compressed_vocab_size: layout.compressedVocabSize,
    dead_token_ids: constants.deadTokenIds,
    hidden_size: constants.hiddenSize,
    hc_mult: constants.hcMult,
    rms_norm_eps: constants.rmsNormEps,
    encoding: constants.encoding,
    primes: layout.layers.map(({ primes }) => primes.flat()),
    offsets: layout.layers.map(({ offsets }) => offsets),
    multipliers: layout.layers.map(({ multipliers }) => multipliers.map(String)),
    token_map_sha256: tokenMap.sha256,
    token_map: Array.from(tokenMap.map),
  };
  // A line a key: a map of 129,280 numbers must not become as many lines.
  const lines = Object.entries(value).map(([key, item]) =>
    `  ${JSON.stringify(key)}: ${JSON.stringify(item)}`
  );
  return `{\n${lines.join(",\n")}\n}\n`;
}
