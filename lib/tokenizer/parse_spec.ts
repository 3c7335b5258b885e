import { EngramError } from "../errors.ts";
import { quote } from "../safetensors/quote.ts";
import type { AddedToken, Part, TokenizerSpec } from "./tokenizer.ts";

/**
 * Reads the outline of a `tokenizer.json`.
 * Throws an `EngramError` where it is no tokenizer, or of a layout the reference does not read.
 */
export function parseSpec(json: string, name: string): TokenizerSpec {
  let root: unknown;
  try {
    root = JSON.parse(json);
  } catch (cause) {
    throw fault(name, `it is not JSON (${(cause as Error).message})`);
  }
  if (!isObject(root)) throw fault(name, "it is not an object");
  if (!isObject(root.model)) throw fault(name, `it has no "model"`);
  const type = root.model.type ?? legacyType(root.model);
  if (typeof type !== "string" || !MODELS.includes(type)) {
    throw fault(name, `its model is ${JSON.stringify(type)}, wanted one of ${MODELS.join(", ")}`);
  }
  return {
    model: { ...root.model, type },
    addedTokens: addedTokens(root.added_tokens, name),
    normalizer: part(root, "normalizer", "normalizers", name),
    preTokenizer: part(root, "pre_tokenizer", "pretokenizers", name),
    decoder: part(root, "decoder", "decoders", name),
    postProcessor: part(root, "post_processor", "processors", name),
  };
}

const MODELS = ["BPE", "Unigram", "WordPiece", "WordLevel"];

/** Old files leave the model's type out; the reference tries them in this order. */
function legacyType(model: Record<string, unknown>): string | undefined {
  if ("merges" in model) return "BPE";
  if ("max_input_chars_per_word" in model) return "WordPiece";
  if (Array.isArray(model.vocab)) return "Unigram";
  return "unk_token" in model ? "WordLevel" : undefined;
}

function part(
  root: Record<string, unknown>,
  key: string,
  inner: string,
  name: string,
): Part | null {
  const value = root[key] ?? null;
  if (value === null) return null;
  checkPart(value, key, inner, name);
  const part = value as Part;
  // A Sequence of nothing does nothing.
  return part.type === "Sequence" && (part[inner] as Part[]).length === 0 ? null : part;
}

function checkPart(value: unknown, key: string, inner: string, name: string): void {
  if (!isObject(value) || typeof value.type !== "string") {
    throw fault(name, `its "${key}" is ${shown(value)}, wanted an object with a type`);
  }
  if (value.type !== "Sequence") return;
  const parts = value[inner];
  if (!Array.isArray(parts)) throw fault(name, `its "${key}" Sequence has no list "${inner}"`);
  for (const each of parts) checkPart(each, key, inner, name);
}

function addedTokens(value: unknown, name: string): AddedToken[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw fault(name, `its "added_tokens" is ${shown(value)}`);
  const flags = ["single_word", "lstrip", "rstrip", "normalized", "special"];
  for (const token of value) {
    const whole = isObject(token) && typeof token.content === "string" &&
      flags.every((flag) => typeof token[flag] === "boolean");
    if (!whole) throw fault(name, `the added token ${shown(token)} is incomplete`);
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return quote(JSON.stringify(value) ?? "missing");
}

function fault(name: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot read tokenizer \`${name}\`: ${found}`, {
    where: name,
    hint: "Give a tokenizer.json as the Hugging Face tokenizers library writes it",
  });
}
