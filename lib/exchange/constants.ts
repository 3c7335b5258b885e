import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import type { RowEncoding } from "../checkpoint/row_encoding.ts";
import { EngramError } from "../errors.ts";
import { buildLayout } from "../layout/build_layout.ts";
import type { Layout } from "../layout/layout.ts";
import type { TokenMap } from "../tokenizer/token_map.ts";

/** All that another engine has to know of a model's Engram module, its weights aside. */
export interface Constants {
  /** The layout: layer ids, primes, offsets and multipliers. */
  readonly layout: Layout;
  /** The compressed token map. */
  readonly tokenMap: TokenMap;
  /** `engram_vocab_size`, the bound the first prime is drawn above. */
  readonly vocabSize: number;
  /** Values in a row. */
  readonly headDim: number;
  /** The padding token as a token id. */
  readonly padTokenId: number;
  /** The padding token's compressed id: what is hashed. */
  readonly compressedPadId: number;
  /** Token ids that take no part in n-grams. */
  readonly deadTokenIds: readonly number[];
  /** Width of the residual stream. */
  readonly hiddenSize: number;
  /** Copies of the residual stream. */
  readonly hcMult: number;
  /** Epsilon of the norms. */
  readonly rmsNormEps: number;
  /** How each row of the table is kept; see {@linkcode encodingName}. */
  readonly encoding: string;
}

/**
 * Gathers the constants of a checkpoint (or of a config alone) and a token map.
 *
 * @throws an {@linkcode EngramError} of kind `mismatch` where map and config disagree.
 */
export function constantsOf(
  { config, layers }: Pick<Checkpoint, "config" | "layers">,
  tokenMap: TokenMap,
): Constants {
  const layout = buildLayout(config, tokenMap.compressedVocabSize);
  const { padTokenId } = config;
  if (padTokenId >= tokenMap.map.length) {
    throw new EngramError(
      "mismatch",
      `Cannot use the token map: engram_pad_token_id ${padTokenId} of ${config.where} is not on ` +
        `it, wanted below ${tokenMap.map.length}`,
      { where: config.where },
    );
  }
  const encodings = new Set(layers.map(encodingName));
  if (encodings.size !== 1) {
    throw new EngramError(
      "malformed",
      `Cannot name the encoding of the tables of ${config.where}: found ` +
        `${[...encodings].join(" and ") || "none"}, wanted one for all layers`,
      { where: config.where },
    );
  }
  return {
    layout,
    tokenMap,
    vocabSize: config.vocabSize,
    headDim: config.headDim,
    padTokenId,
    compressedPadId: tokenMap.map[padTokenId],
    deadTokenIds: config.deadTokenIds,
    hiddenSize: config.hiddenSize,
    hcMult: config.hcMult,
    rmsNormEps: config.rmsNormEps,
    encoding: [...encodings][0],
  };
}

/**
 * What rows are called by converters: `e4m3_e8m0_32` (fp8 codes, a scale byte for 32 values), with
 * `_row264` behind it where they are packed records of that many bytes; `i8_f32_32`; else the dtype.
 */
export function encodingName(
  { encoding, packed }: { readonly encoding: RowEncoding; readonly packed: boolean },
): string {
  switch (encoding.kind) {
    case "fp8":
      return `e4m3_e8m0_32${packed ? `_row${encoding.recordBytes}` : ""}`;
    case "int8":
      return "i8_f32_32";
    default:
      return encoding.kind;
  }
}
