import { MAX_LAYER_ID } from "../checkpoint/config_limits.ts";
import { EngramError } from "../errors.ts";
import { Pcg64 } from "./pcg64.ts";

const INT64_MAX = (1n << 63n) - 1n;

/**
 * A layer's odd int64 multipliers, one for each lookback. They are bounded so that the product of
 * a compressed id and a multiplier stays below 2^63.
 *
 * @throws an {@linkcode EngramError} when `layerId` is no layer id, or the vocabulary is not
 * from 1 to 2^63 - 1.
 */
export function multipliers(
  layerId: number,
  maxNgramSize: number,
  compressedVocabSize: bigint | number,
): bigint[] {
  if (!Number.isSafeInteger(layerId) || layerId < 0 || layerId > MAX_LAYER_ID) {
    throw new EngramError(
      "malformed",
      `Cannot draw multipliers: layer id ${layerId}, wanted an integer from 0 to ${MAX_LAYER_ID}`,
    );
  }
  const whole = typeof compressedVocabSize === "bigint" ||
    Number.isSafeInteger(compressedVocabSize);
  if (!whole || compressedVocabSize < 1 || compressedVocabSize > INT64_MAX) {
    throw new EngramError(
      "malformed",
      `Cannot draw multipliers: compressed vocabulary of ${compressedVocabSize} keys, ` +
        `wanted an integer from 1 to 2^63 - 1`,
    );
  }
  return multipliersOfSeed(10007n * BigInt(layerId), maxNgramSize, BigInt(compressedVocabSize));
}

/**
 * The multipliers that numpy's generator gives for a seed of any origin; {@linkcode multipliers}
 * seeds it by the layer.
 */
export function multipliersOfSeed(
  seed: bigint,
  maxNgramSize: number,
  compressedVocabSize: bigint,
): bigint[] {
  const half = INT64_MAX / compressedVocabSize / 2n;
  const bound = half > 1n ? half : 1n;
  const random = new Pcg64(seed);
  return Array.from({ length: maxNgramSize }, () => random.below(bound) * 2n + 1n);
}
