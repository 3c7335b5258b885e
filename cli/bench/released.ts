import type { EngramConfig } from "../../lib/checkpoint/engram_config.ts";

/** The released model's Engram settings, for benchmarks without a checkpoint. */
export const RELEASED: EngramConfig = {
  where: "the released layout",
  layerIds: [1, 14],
  numEmbeddings: [384_006_168, 384_016_682],
  maxNgramSize: 4,
  nHeads: 8,
  headDim: 256,
  vocabSize: 16_000_000,
  compressedVocabSize: 99_092,
  padTokenId: 2,
  deadTokenIds: [129_264, 129_265],
  hiddenSize: 5120,
  hcMult: 4,
  rmsNormEps: 1e-20,
  weightBlockSize: [32, 32],
  quantMethod: "fp8",
};
