import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
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
  } catch (error) {
    const failure = fileError("open tokenizer", file, error);
    throw file === path ? failure : new EngramError(failure.kind, failure.message, {
      where: file,
      hint: "Give a tokenizer.json or the folder that holds it",
      cause: error,
    });
  }
  return await parseTokenizer(json, file);
}
