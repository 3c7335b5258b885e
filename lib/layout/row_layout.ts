import { MAX_LAYER_ID, MAX_NGRAM_SIZE } from "../checkpoint/config_limits.ts";
import type { EngramConfig } from "../checkpoint/engram_config.ts";
import { EngramError } from "../errors.ts";
import { checkLimits } from "./check_limits.ts";
import { drawPrimes } from "./draw_primes.ts";
import type { LayerRowLayout, RowLayout } from "./layout.ts";
import { MAX_PRIMES, MAX_VOCAB_SIZE } from "./limits.ts";

/** The part of a config that the rows follow from. */
export interface RowLayoutConfig
  extends Pick<EngramConfig, "where" | "layerIds" | "maxNgramSize" | "nHeads" | "vocabSize"> {
  /** Rows the config says each table has: never fewer than the primes need. Left out, not compared. */
  readonly numEmbeddings?: readonly number[] | null;
}

/**
 * The primes and offsets of all layers of a model. Unlike its multipliers they do not depend on the
 * compressed vocabulary, so that tables can be split where no tokenizer is at hand.
 *
 * @throws an {@linkcode EngramError} of kind `mismatch` when the primes need more rows than the
 * config says there are; of kind `malformed` when a number of the config is outside its limits.
 */
export function rowLayout(config: RowLayoutConfig): RowLayout {
  const { where, layerIds, maxNgramSize, nHeads, vocabSize } = config;
  const check = checkLimits(where);
  for (const id of layerIds) check("an engram layer id", id, 0, MAX_LAYER_ID);
  check("engram_max_ngram_size", maxNgramSize, 2, MAX_NGRAM_SIZE);
  check("engram_n_heads", nHeads, 1, MAX_PRIMES);
  check("engram_vocab_size", vocabSize, 1, MAX_VOCAB_SIZE);
  const columns = (maxNgramSize - 1) * nHeads;
  check("the count of primes (layers × n-grams × heads)", layerIds.length * columns, 0, MAX_PRIMES);

  const primes = drawPrimes(layerIds.length, maxNgramSize, nHeads, vocabSize);
  const layers = layerIds.map((layerId, i): LayerRowLayout => {
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
    return { layerId, primes: primes[i], offsets, rows };
  });
  return { maxNgramSize, nHeads, columns, layers };
}
