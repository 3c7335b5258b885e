import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { EngramError } from "../errors.ts";
import { parseTokenizer } from "./parse_tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads a tokenizer from a `tokenizer.json` or the folder that holds one.
 * Throws an `EngramError` when it is not there or is no tokenizer.
 */
export async function loadTokenizer(path: string): Promise<Tokenizer> {
  let file = path;
  let json: string;
  try {
    if ((await stat(path)).isDirectory()) file = join(path, "tokenizer.json");
    json = await readFile(file, "utf8");
  } catch (cause) {
    throw new EngramError("unavailable", `Cannot read tokenizer ${file}: ${(cause as Error).message}`, {
      where: file,
      hint: "Give a tokenizer.json or the folder that holds it",
      cause,
    });
  }
  return await parseTokenizer(json, file);
}
