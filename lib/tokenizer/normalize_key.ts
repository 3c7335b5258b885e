import { isAssigned, isMark, laterLowerCase } from "./unicode.ts";

/** What each non-ASCII code point becomes; texts repeat few of them. */
const folded = new Map<string, string>();

/**
 * Normalizes a decoded token the way the compressed token map groups tokens: NFKC, NFD, combining
 * marks dropped, lower case, runs of space, tab, CR and LF to one space, white space stripped at
 * both ends; a text that is one space then stays one, and U+E000 becomes a space.
 *
 * @example
 * ```ts
 * import { normalizeKey } from "./normalize_key.ts";
 *
 * if (normalizeKey(" Ångström\n") !== "angstrom") throw new Error("unreachable");
 * ```
 */
export function normalizeKey(text: string): string {
  const spaced = foldText(text).replace(/[ \t\r\n]+/g, " ");
  if (spaced === " ") return " ";
  const bare = spaced.replace(/^\p{White_Space}+/u, "").replace(/\p{White_Space}+$/u, "");
  return bare.replaceAll("\uE000", " ");
}

/** Decomposes, drops marks and lower-cases. */
function foldText(text: string): string {
  // deno-lint-ignore no-control-regex -- ASCII is meant
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  let out = "";
  for (const char of text) {
    let to = folded.get(char);
    if (to === undefined) folded.set(char, to = foldChar(char));
    out += to;
  }
  return out;
}

/**
 * One code point at a time is exact: composing and then decomposing again is decomposing, and the
 * canonical order that decomposing ends with only moves marks, which are dropped.
 */
function foldChar(char: string): string {
  const codePoint = char.codePointAt(0)!;
  if (!isAssigned(codePoint)) return String.fromCodePoint(laterLowerCase(codePoint));
  let out = "";
  for (const part of char.normalize("NFKD")) {
    if (!isMark(part)) out += part.toLowerCase();
  }
  return out;
}
