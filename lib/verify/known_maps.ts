/** A token map whose digest is known. */
export interface KnownMap {
  /** Whose map it is. */
  readonly name: string;
  /** Its compressed vocabulary's size. */
  readonly compressedVocabSize: number;
}

/** Maps by the SHA-256 of their int32 little-endian bytes; the first is published by three engines. */
export const KNOWN_MAPS: ReadonlyMap<string, KnownMap> = new Map([
  ["c60a86322ec17b4142bfef3c57a8d81fb428550cdf487f88a4320cb59fe46481", {
    name: "DeepSeek-V4.1-Flash",
    compressedVocabSize: 99092,
  }],
  ["cd48cb62d9cca1baaf08d9e7795ad3d4c22b6c56f0f070178b9e3a52694ea930", {
    name: "DeepSeek-V3",
    compressedVocabSize: 98627,
  }],
  ["81603d55831272a9bc1bab4232bb531b57a4d964120b256ef93c3ec00267cefa", {
    name: "Gemma 3",
    compressedVocabSize: 169824,
  }],
  ["0b2ac75b70cee63db0d2ed40deff486f684063bf08d404d449b771e4cca2165a", {
    name: "gpt-oss",
    compressedVocabSize: 132128,
  }],
  ["4d4ba5d7e1cfa12fd706e0da0a6e40f051725fa89c1ab133c7088b1155765ceb", {
    name: "Llama 2",
    compressedVocabSize: 21064,
  }],
  ["68578281d857e02d87a508f17dac81f1b82cff501307d17452c8c36ea6c1590f", {
    name: "Llama 3",
    compressedVocabSize: 82693,
  }],
  ["2a9224de024c8a5f3321d1ff04bcb856180bb3cd3d87043f4ef65983354471ab", {
    name: "Qwen3",
    compressedVocabSize: 107457,
  }],
]);

/** Row counts of the released model; a checkpoint that has them must have the released map. */
export const RELEASED_ROWS: readonly number[] = [384_006_168, 384_016_682];

/** Digest of the released model's map. */
export const RELEASED_MAP = "c60a86322ec17b4142bfef3c57a8d81fb428550cdf487f88a4320cb59fe46481";
