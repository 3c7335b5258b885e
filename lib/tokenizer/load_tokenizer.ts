import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { isRemote, openLocation } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import { parseTokenizer } from "./parse_tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads a tokenizer from a `tokenizer.json` or the folder that holds one, on disk or behind
 * `https://…` or `hf://…`. Throws an `EngramError` when it is not there or is no tokenizer.
 */
export async function loadTokenizer(path: string): Promise<Tokenizer> {
  const file = await tokenizerFile(path);
  try {
    return await parseTokenizer(await readText(file), file);
  } catch (error) {
    if (file === path || !(error instanceof EngramError) || error.kind !== "unavailable") {
      throw error;
    }
    throw new EngramError(error.kind, error.message, {
      where: file,
      hint: error.hint ?? "Give a tokenizer.json or the folder that holds it",
    });
  }
}

async function tokenizerFile(path: string): Promise<string> {
  if (isRemote(path)) {
    return /\.json(\?|$)/.test(path) ? path : `${path.replace(/\/+$/, "")}/tokenizer.json`;
  }
  try {
    return (await stat(path)).isDirectory() ? join(path, "tokenizer.json") : path;
  } catch (error) {
    throw fileError("open tokenizer", path, error);
  }
}

async function readText(file: string): Promise<string> {
  const source = await openLocation(file);
  try {
    const bytes = new Uint8Array(source.size);
    await source.read(bytes, 0);
    return new TextDecoder().decode(bytes);
  } finally {
    source.close();
  }
}
