import type { EngramConfig } from "../checkpoint/engram_config.ts";
import { EngramError } from "../errors.ts";
import { checkLimits } from "./check_limits.ts";
import type { Layout } from "./layout.ts";
import { MAX_COMPRESSED_VOCAB_SIZE } from "./limits.ts";
import { multipliers } from "./multipliers.ts";
import { rowLayout, type RowLayoutConfig } from "./row_layout.ts";

/** The part of a config that the layout follows from. */
export interface LayoutConfig extends RowLayoutConfig, Pick<EngramConfig, "compressedVocabSize"> {}

/**
 * The prime layout and multipliers of all layers of a model.
 *
 * `compressedVocabSize` is the size of the token map in hand; without it the config's is used.
 *
 * @throws an {@linkcode EngramError} of kind `mismatch` when the map and the config disagree on the
 * size, or the primes need more rows than the config says there are; of kind `malformed` when a
 * number of the config is outside its limits, or no size is known.
 *
 * @example
 * ```ts
 * import { buildLayout } from "./build_layout.ts";
 *
 * const { layers: [first] } = buildLayout({
 *   where: "the released config",
 *   layerIds: [1, 14],
 *   maxNgramSize: 4,
 *   nHeads: 8,
 *   vocabSize: 16_000_000,
 *   compressedVocabSize: 99092,
 * });
 * if (first.rows !== 384006168) throw new Error("the released table's rows");
 * ```
 */
export function buildLayout(config: LayoutConfig, compressedVocabSize?: number): Layout {
  const rows = rowLayout(config);
  const size = agreedSize(config, compressedVocabSize);
  checkLimits(config.where)("engram_compressed_vocab_size", size, 1, MAX_COMPRESSED_VOCAB_SIZE);
  const layers = rows.layers.map((layer) => ({
    ...layer,
    multipliers: multipliers(layer.layerId, config.maxNgramSize, size),
  }));
  return { ...rows, compressedVocabSize: size, layers };
}

function agreedSize(config: LayoutConfig, given: number | undefined): number {
  const { where, compressedVocabSize: stated } = config;
  if (given !== undefined && stated !== null && given !== stated) {
    throw new EngramError(
      "mismatch",
      `Cannot lay out ${where}: the token map has ${given} keys, ` +
        `wanted ${stated} (engram_compressed_vocab_size)`,
      {
        where,
        hint: "Use the tokenizer the model was trained with: every multiplier depends on it",
      },
    );
  }
  const size = given ?? stated;
  if (size === null) {
    throw new EngramError(
      "malformed",
      `Cannot lay out ${where}: it has no engram_compressed_vocab_size`,
      { where, hint: "Give the model's tokenizer with --tokenizer, so that it can be counted" },
    );
  }
  return size;
}
