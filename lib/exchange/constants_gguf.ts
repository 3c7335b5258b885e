import type { Constants } from "./constants.ts";
import { ggufFile } from "./gguf_writer.ts";

/**
 * Constants as a GGUF file of metadata under `deepseek41.engram.*`: arrays over layers are flat,
 * layer by layer; row counts, primes, offsets and multipliers are int64.
 */
export function constantsGguf(constants: Constants): Uint8Array {
  const { layout, tokenMap } = constants;
  const { layers } = layout;
  const key = (name: string) => `deepseek41.engram.${name}`;
  const uint32 = (value: number | readonly number[]) => ({ type: "uint32" as const, value });
  const int64 = (values: readonly (number | bigint)[]) => ({
    type: "int64" as const,
    value: values.map(BigInt),
  });
  return ggufFile({
    "general.architecture": { type: "string", value: "deepseek41" },
    "general.type": { type: "string", value: "engram-constants" },
    "deepseek41.embedding_length": uint32(constants.hiddenSize),
    [key("layer_ids")]: uint32(layers.map(({ layerId }) => layerId)),
    [key("n_heads")]: uint32(layout.nHeads),
    [key("head_dim")]: uint32(constants.headDim),
    [key("max_ngram_size")]: uint32(layout.maxNgramSize),
    [key("num_embeddings")]: int64(layers.map(({ rows }) => rows)),
    [key("pad_token_id")]: uint32(constants.padTokenId),
    [key("compressed_pad_id")]: uint32(constants.compressedPadId),
    [key("compressed_vocab_size")]: uint32(layout.compressedVocabSize),
    [key("dead_token_ids")]: uint32(constants.deadTokenIds),
    [key("hc_mult")]: uint32(constants.hcMult),
    [key("rms_norm_eps")]: { type: "float32", value: constants.rmsNormEps },
    [key("primes")]: int64(layers.flatMap(({ primes }) => primes.flat())),
    [key("offsets")]: int64(layers.flatMap(({ offsets }) => offsets)),
    [key("multipliers")]: int64(layers.flatMap(({ multipliers }) => multipliers)),
    [key("token_map")]: { type: "int32", value: tokenMap.map },
    [key("token_map_sha256")]: { type: "string", value: tokenMap.sha256 },
    [key("encoding")]: { type: "string", value: constants.encoding },
  });
}
