import { EngramError } from "../errors.ts";
import { quote } from "../safetensors/quote.ts";
import type { Encoder } from "./encoder.ts";
import { flatten } from "./flatten.ts";
import { GPT2_PATTERN } from "./gpt2_pattern.ts";
import { regexCut } from "./regex_cut.ts";
import type { Part, TokenizerSpec } from "./tokenizer.ts";
import { isAssigned } from "./unicode.ts";
import { readVocabulary } from "./vocabulary.ts";

/**
 * The official tokenizer library in JavaScript, for browsers and where the native one cannot be
 * loaded. It does not do everything as the reference does, so a tokenizer with a part that is not
 * known to be right is refused by the part's name, and a text with characters newer than Unicode 9
 * by the character: engines disagree on what those are.
 */
export async function javascriptEncoder(
  json: string,
  spec: TokenizerSpec,
  name: string,
): Promise<Encoder> {
  const doubt = await doubtfulPart(spec);
  if (doubt !== null) throw refusal(name, `its ${doubt} is not done right without it`);
  const { Tokenizer } = await import("@huggingface/tokenizers");
  const root = JSON.parse(json);
  const { id } = readVocabulary(spec, name);
  const tokenizer = new Tokenizer({
    ...root,
    added_tokens: spec.addedTokens.map((token) => ({ ...token, id: id(token.content) })),
    model: spec.model,
    truncation: null,
    padding: null,
    pre_tokenizer: spec.preTokenizer && splitByPattern(spec.preTokenizer),
    // deno-lint-ignore no-explicit-any -- the library's own type wants every kind spelled out
  } as any, {});
  return {
    encodeBatch(texts) {
      return Promise.resolve(texts.map((text) => {
        checkCharacters(text, name);
        return Int32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids);
      }));
    },
  };
}

/** The first part that is not known to give the reference's ids; null when all do. */
export async function doubtfulPart(spec: TokenizerSpec): Promise<string | null> {
  const { model, addedTokens, normalizer, preTokenizer } = spec;
  if (model.type !== "BPE" && model.type !== "Unigram") return `${model.type} model`;
  const settings = ["dropout", "continuing_subword_prefix", "end_of_word_suffix"];
  const set = settings.find((key) => model[key]);
  if (set) return `model's ${set}`;
  if (model.fuse_unk && !(model.byte_fallback && hasAllBytes(model))) {
    // It fuses over the pre-tokenizer's splits, and a token spelt like the unknown one too.
    if (preTokenizer || [...String(model.unk_token)].length === 1) return "model's fuse_unk";
  }
  for (const token of addedTokens) {
    const flag = (["single_word", "lstrip", "rstrip"] as const).find((key) => token[key]);
    if (flag) return `added token ${quote(token.content)} with ${flag}`;
    if (token.normalized && normalizer) return `normalized added token ${quote(token.content)}`;
  }
  for (const part of flatten(normalizer, "normalizers")) {
    const right = ["NFC", "NFKC", "Prepend"].includes(part.type) ||
      (part.type === "Replace" && isText(part.pattern));
    if (!right) return `${part.type} normalizer`;
  }
  for (const part of flatten(preTokenizer, "pretokenizers")) {
    if (!await splitsRight(part, model)) return `${part.type} pre-tokenizer`;
  }
  return null;
}

async function splitsRight(part: Part, model: Part): Promise<boolean> {
  switch (part.type) {
    case "ByteLevel":
      return model.type === "BPE" && part.add_prefix_space === false;
    case "Metaspace":
      return part.prepend_scheme === "always" && part.split !== false &&
        !joinsWords(model, String(part.replacement));
    case "Split": {
      if (part.invert !== false) return false;
      if (isText(part.pattern)) {
        return part.behavior === "Isolated" || part.behavior === "MergedWithPrevious";
      }
      const { Regex: regex } = part.pattern as { Regex: string };
      return part.behavior === "Isolated" && ((await regexCut(regex))?.plain ?? false);
    }
    default:
      return false;
  }
}

/** Whether some token spans two words, which that library's Metaspace does not keep apart. */
function joinsWords(model: Part, space: string): boolean {
  const tokens = model.type === "Unigram"
    ? (model.vocab as [string, number][]).map(([token]) => token)
    : Object.keys(model.vocab as object);
  return tokens.some((token) => token.includes(space, 1));
}

function hasAllBytes({ vocab }: Part): boolean {
  const names = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase());
  return names.every((hex) => Object.hasOwn(vocab as object, `<0x${hex.padStart(2, "0")}>`));
}

function isText(pattern: unknown): boolean {
  return typeof (pattern as { String?: unknown } | undefined)?.String === "string";
}

/** ByteLevel's built-in pattern as a Split: the library translates that one exactly. */
function splitByPattern(part: Part): Part {
  if (part.type === "Sequence") {
    return { ...part, pretokenizers: (part.pretokenizers as Part[]).map(splitByPattern) };
  }
  if (part.type !== "ByteLevel" || part.use_regex === false) return part;
  const split = {
    type: "Split",
    pattern: { Regex: GPT2_PATTERN },
    behavior: "Isolated",
    invert: false,
  };
  return { type: "Sequence", pretokenizers: [split, { ...part, use_regex: false }] };
}

function checkCharacters(text: string, name: string): void {
  for (const char of text) {
    const codePoint = char.codePointAt(0)!;
    if (isAssigned(codePoint)) continue;
    const hex = codePoint.toString(16).toUpperCase().padStart(4, "0");
    throw refusal(name, `the text holds U+${hex}, which engines classify differently`);
  }
}

function refusal(name: string, why: string): EngramError {
  return new EngramError(
    "unavailable",
    `Cannot encode with tokenizer \`${name}\`: the native tokenizer library is not loaded, and ${why}`,
    { where: name, hint: "Run with --allow-ffi, --allow-env and --allow-read, or with -A" },
  );
}
