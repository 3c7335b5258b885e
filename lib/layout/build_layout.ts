import { MAX_LAYER_ID, MAX_NGRAM_SIZE } from "../checkpoint/config_limits.ts";
import type { EngramConfig } from "../checkpoint/engram_config.ts";
import { EngramError } from "../errors.ts";
import { drawPrimes } from "./draw_primes.ts";
import type { LayerLayout, Layout } from "./layout.ts";
import { MAX_COMPRESSED_VOCAB_SIZE, MAX_PRIMES, MAX_VOCAB_SIZE } from "./limits.ts";
import { multipliers } from "./multipliers.ts";

/** The part of a config that the layout follows from. */
export type LayoutConfig =
  & Pick<
    EngramConfig,
    "where" | "layerIds" | "maxNgramSize" | "nHeads" | "vocabSize" | "compressedVocabSize"
  >
  & {
    /** Rows the config says each table has: never fewer than the primes need. Left out, not compared. */
    readonly numEmbeddings?: readonly number[] | null;
  };

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
  const { where, layerIds, maxNgramSize, nHeads, vocabSize } = config;
  const check = (name: string, value: number, least: number, most: number) => {
    if (Number.isSafeInteger(value) && value >= least && value <= most) return;
    throw new EngramError(
      "malformed",
      `Cannot lay out ${where}: ${name} is ${value}, wanted an integer from ${least} to ${most}`,
      { where },
    );
  };
  for (const id of layerIds) check("an engram layer id", id, 0, MAX_LAYER_ID);
  check("engram_max_ngram_size", maxNgramSize, 2, MAX_NGRAM_SIZE);
  check("engram_n_heads", nHeads, 1, MAX_PRIMES);
  check("engram_vocab_size", vocabSize, 1, MAX_VOCAB_SIZE);
  const columns = (maxNgramSize - 1) * nHeads;
  check("the count of primes (layers × n-grams × heads)", layerIds.length * columns, 0, MAX_PRIMES);
  const size = agreedSize(config, compressedVocabSize);
  check("engram_compressed_vocab_size", size, 1, MAX_COMPRESSED_VOCAB_SIZE);

  const primes = drawPrimes(layerIds.length, maxNgramSize, nHeads, vocabSize);
  const layers = layerIds.map((layerId, i): LayerLayout => {
    const offsets: number[] = [];
    let rows = 0;
    for (const prime of primes[i].flat()) {
      offsets.push(rows);
      rows += prime;
    }
    check(`the sum of layer ${layerId}'s primes`, rows, 1, Number.MAX_SAFE_INTEGER);
    const stated = config.numEmbeddings?.[i];
    if (stated !== undefined && stated < rows) {
      throw new EngramError(
        "mismatch",
        `Cannot lay out ${where}: engram_num_embeddings of layer ${layerId} is ${stated}, ` +
          `but its ${columns} primes sum to ${rows}`,
        { where, hint: "One of the config's engram_ numbers is not that of the tables" },
      );
    }
    return {
      layerId,
      primes: primes[i],
      offsets,
      multipliers: multipliers(layerId, maxNgramSize, size),
      rows,
    };
  });
  return { maxNgramSize, nHeads, columns, compressedVocabSize: size, layers };
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
