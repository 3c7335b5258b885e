/** SHA-256 of the released model's map, which three engines publish. */
export const RELEASED_MAP = "c60a86322ec17b4142bfef3c57a8d81fb428550cdf487f88a4320cb59fe46481";

/** Maps whose digests are public or checked against the reference library, by SHA-256. */
const KNOWN_MAPS: ReadonlyMap<string, string> = new Map([
  [RELEASED_MAP, "DeepSeek-V4.1-Flash"],
  ["cd48cb62d9cca1baaf08d9e7795ad3d4c22b6c56f0f070178b9e3a52694ea930", "DeepSeek-V3"],
  ["81603d55831272a9bc1bab4232bb531b57a4d964120b256ef93c3ec00267cefa", "Gemma 3"],
  ["0b2ac75b70cee63db0d2ed40deff486f684063bf08d404d449b771e4cca2165a", "gpt-oss"],
  ["4d4ba5d7e1cfa12fd706e0da0a6e40f051725fa89c1ab133c7088b1155765ceb", "Llama 2"],
  ["68578281d857e02d87a508f17dac81f1b82cff501307d17452c8c36ea6c1590f", "Llama 3"],
  ["2a9224de024c8a5f3321d1ff04bcb856180bb3cd3d87043f4ef65983354471ab", "Qwen3"],
]);

/** The model whose map has this SHA-256; null where none is known. */
export function knownMap(sha256: string): string | null {
  return KNOWN_MAPS.get(sha256) ?? null;
}
