import type { TensorEntry } from "../safetensors/writer.ts";
import type { Constants } from "./constants.ts";

/**
 * Constants as tensors: `layer_ids` I64 [L], `primes` and `offsets` I64 [L, columns], `multipliers`
 * I64 [L, max_ngram_size], `token_map` I32 [tokens]; single numbers are metadata. The file is also
 * a saved token map.
 */
export function constantsTensors(
  constants: Constants,
): { entries: TensorEntry[]; metadata: Record<string, string> } {
  const { layout, tokenMap } = constants;
  const { layers } = layout;
  const int64 = (name: string, shape: number[], values: readonly (number | bigint)[]) => ({
    name,
    dtype: "I64" as const,
    shape,
    data: BigInt64Array.from(values, BigInt),
  });
  return {
    entries: [
      int64("layer_ids", [layers.length], layers.map(({ layerId }) => layerId)),
      int64(
        "primes",
        [layers.length, layout.columns],
        layers.flatMap(({ primes }) => primes.flat()),
      ),
      int64("offsets", [layers.length, layout.columns], layers.flatMap(({ offsets }) => offsets)),
      int64(
        "multipliers",
        [layers.length, layout.maxNgramSize],
        layers.flatMap(({ multipliers }) => multipliers),
      ),
      { name: "token_map", dtype: "I32", shape: [tokenMap.map.length], data: tokenMap.map },
    ],
    metadata: {
      format: "engram-constants",
      n_heads: String(layout.nHeads),
      head_dim: String(constants.headDim),
      max_ngram_size: String(layout.maxNgramSize),
      vocab_size: String(constants.vocabSize),
      num_embeddings: JSON.stringify(layers.map(({ rows }) => rows)),
      pad_token_id: String(constants.padTokenId),
      compressed_pad_id: String(constants.compressedPadId),
      compressed_vocab_size: String(layout.compressedVocabSize),
      dead_token_ids: JSON.stringify(constants.deadTokenIds),
      hidden_size: String(constants.hiddenSize),
      hc_mult: String(constants.hcMult),
      rms_norm_eps: String(constants.rmsNormEps),
      encoding: constants.encoding,
      tokens: String(tokenMap.map.length),
      sha256: tokenMap.sha256,
    },
  };
}
