import { EngramError } from "../lib/errors.ts";
import type { TokenMap } from "../lib/tokenizer/token_map.ts";

/** Where a command may take the compressed token map from. */
export interface TokenMapOptions {
  /** A tokenizer.json or the folder of one. */
  readonly tokenizer?: string | undefined;
  /** A file that `engram map --out` wrote. */
  readonly map?: string | undefined;
}

/** The map the options name; null where they name none. Loads the tokenizer only when asked. */
export async function tokenMapOption(options: TokenMapOptions): Promise<TokenMap | null> {
  const { tokenizer, map } = options;
  if (tokenizer !== undefined && map !== undefined) {
    throw new EngramError("usage", "Cannot use both --tokenizer and --map: wanted one of them", {
      hint: "--map takes a file that `engram map TOKENIZER --out FILE` wrote",
    });
  }
  if (map !== undefined) {
    const { readTokenMap } = await import("../lib/tokenizer/saved_map.ts");
    return await readTokenMap(map);
  }
  if (tokenizer === undefined) return null;
  const [{ loadTokenizer }, { buildTokenMap }] = await Promise.all([
    import("../lib/tokenizer/load_tokenizer.ts"),
    import("../lib/tokenizer/token_map.ts"),
  ]);
  return buildTokenMap(await loadTokenizer(tokenizer));
}
