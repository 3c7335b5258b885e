import { EngramError } from "../errors.ts";
import { bytesOfToken } from "./byte_alphabet.ts";
import type { Part } from "./tokenizer.ts";

/** Turns one raw token, decoded alone, into text. */
export type TokenDecoder = (token: string) => string;

/**
 * Builds the decoder of a `tokenizer.json` for single tokens: each kind does what the reference's
 * does to a list of one token (so a WordPiece prefix stays, and a Metaspace at the start goes).
 * Throws an `EngramError` that names a kind or setting it does not know.
 */
export async function tokenDecoder(part: Part | null, name: string): Promise<TokenDecoder> {
  if (part === null) return (token) => token;
  const setting = <T>(key: string, check: (value: unknown) => value is T): T => {
    const value = part[key];
    if (check(value)) return value;
    throw new EngramError(
      "malformed",
      `Cannot read tokenizer \`${name}\`: the ${part.type} decoder's "${key}" is ${
        JSON.stringify(value)
      }`,
      { where: name },
    );
  };
  switch (part.type) {
    case "BPEDecoder":
      return remover(setting("suffix", isString));
    case "ByteFallback":
      return byteFallback;
    case "ByteLevel":
      return byteLevel;
    case "CTC": {
      const dropPad = remover(setting("pad_token", isString));
      const delimiter = setting("word_delimiter_token", isString);
      if (!setting("cleanup", isBoolean)) return dropPad;
      return (token) => cleanUp(dropPad(token)).replaceAll(delimiter, " ");
    }
    case "Fuse":
      return (token) => token;
    case "Metaspace": {
      const space = setting("replacement", isChar);
      const never = part.prepend_scheme === "never";
      return (token) => token.replaceAll(space, never ? " " : "");
    }
    case "Replace":
      return await replacer(part, name);
    case "Sequence": {
      const decoders: TokenDecoder[] = [];
      for (const inner of setting("decoders", isParts)) {
        decoders.push(await tokenDecoder(inner, name));
      }
      return (token) => decoders.reduce((text, decode) => decode(text), token);
    }
    case "Strip":
      return stripper(
        setting("content", isChar),
        setting("start", isCount),
        setting("stop", isCount),
      );
    case "WordPiece":
      setting("prefix", isString);
      return setting("cleanup", isBoolean) ? cleanUp : (token) => token;
    default:
      throw new EngramError(
        "malformed",
        `Cannot read tokenizer \`${name}\`: its decoder "${part.type}" is not one the reference library has`,
        { where: name, hint: "Save the tokenizer again with the tokenizers library 0.15 or later" },
      );
  }
}

const isString = (value: unknown): value is string => typeof value === "string";
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && value as number >= 0;
const isChar = (value: unknown): value is string => isString(value) && [...value].length === 1;
const isParts = (value: unknown): value is Part[] =>
  Array.isArray(value) && value.every((part) => isString(part?.type));

function remover(text: string): TokenDecoder {
  return text === "" ? (token) => token : (token) => token.replaceAll(text, "");
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

function byteLevel(token: string): string {
  if (/^[!-~]*$/.test(token)) return token;
  const bytes = bytesOfToken(token);
  return bytes ? utf8.decode(bytes) : token;
}

function byteFallback(token: string): string {
  const match = /^<0x([0-9a-f]{2}|\+[0-9a-f])>$/i.exec(token);
  return match ? utf8.decode(Uint8Array.of(parseInt(match[1], 16))) : token;
}

function stripper(content: string, start: number, stop: number): TokenDecoder {
  return (token) => {
    const chars = [...token];
    let from = 0;
    while (from < Math.min(start, chars.length) && chars[from] === content) from++;
    let to = chars.length;
    while (chars.length - to < stop && to > 0 && chars[to - 1] === content) to--;
    return chars.slice(from, Math.max(from, to)).join("");
  };
}

async function replacer(part: Part, name: string): Promise<TokenDecoder> {
  const pattern = part.pattern as { String?: unknown; Regex?: unknown } | undefined;
  const content = part.content;
  if (isString(content) && isString(pattern?.String)) {
    const text = pattern.String;
    return (token) => token === "" ? token : token.replaceAll(text, () => content);
  }
  if (isString(content) && isString(pattern?.Regex)) {
    const { toRegExp } = await import("oniguruma-to-es");
    const regex = toRegExp(pattern.Regex, { global: true });
    return (token) => token === "" ? token : token.replace(regex, () => content);
  }
  throw new EngramError(
    "malformed",
    `Cannot read tokenizer \`${name}\`: a Replace decoder without "pattern" and "content"`,
    { where: name },
  );
}

/** The reference's clean-up of English punctuation, in its order. */
const CLEAN_UPS: readonly (readonly [string, string])[] = [
  [" .", "."],
  [" ?", "?"],
  [" !", "!"],
  [" ,", ","],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" do not", " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

function cleanUp(token: string): string {
  return CLEAN_UPS.reduce((text, [from, to]) => text.replaceAll(from, to), token);
}
