import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { isRemote, openLocation } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import type { EncoderOpener } from "./encoder.ts";
import { javascriptEncoder } from "./javascript_encoder.ts";
import { nativeEncoder } from "./native_encoder.ts";
import { parseTokenizer } from "./parse_tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads a tokenizer from a `tokenizer.json` or the folder that holds one, on disk or behind
 * `https://…` or `hf://…`. Texts are encoded by the reference library where its native addon can
 * be loaded, else by the JavaScript one where that is known to give the same ids.
 * Throws an `EngramError` when it is not there or is no tokenizer.
 */
export async function loadTokenizer(path: string): Promise<Tokenizer> {
  const file = await tokenizerFile(path);
  try {
    return await parseTokenizer(await readText(file), file, openEncoder);
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

const openEncoder: EncoderOpener = async (json, spec, name) =>
  await nativeEncoder(json, spec, name) ?? await javascriptEncoder(json, spec, name);

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
    return decodeText(bytes, file);
  } finally {
    source.close();
  }
}

function decodeText(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new EngramError("malformed", `Cannot read tokenizer \`${file}\`: it is not UTF-8 text`, {
      where: file,
      hint: "Give a tokenizer.json, not a sentencepiece or tiktoken model",
    });
  }
}
