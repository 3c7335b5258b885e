import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { isAssigned, isMark, laterLowerCase } from "../tokenizer/unicode.ts";

/** A step of the token map's normalizing, left out or done wrongly. */
export type MapMistake = "marks" | "case" | "trimming" | "one space" | "runs of white space";

/** The mistakes, each with what it says to people. */
export const MAP_MISTAKES: Readonly<Record<MapMistake, string>> = {
  marks: "the token map keeps combining marks",
  case: "the token map keeps upper and lower case apart",
  trimming: "the token map does not strip white space at both ends",
  "one space": "the token map lacks the rule that a text of one space stays one",
  "runs of white space": "the token map does not join runs of white space",
};

/** The token map of a tokenizer, made with one mistake, and its number of keys. */
export function mistakenMap(
  tokenizer: Pick<Tokenizer, "tokens" | "decodeOne" | "rawToken">,
  mistake: MapMistake,
): { map: Int32Array; size: number } {
  const ids = new Map<string, number>();
  const map = Int32Array.from({ length: tokenizer.tokens }, (_, id) => {
    const text = tokenizer.decodeOne(id);
    const key = text.includes("\uFFFD")
      ? tokenizer.rawToken(id)!
      : normalize(text, mistake) || text;
    const known = ids.get(key);
    if (known !== undefined) return known;
    ids.set(key, ids.size);
    return ids.size - 1;
  });
  return { map, size: ids.size };
}

/** As `normalizeKey`, but for one step. */
function normalize(text: string, mistake: MapMistake): string {
  let folded = "";
  for (const char of text) folded += fold(char, mistake);
  const spaced = mistake === "runs of white space" ? folded : folded.replace(/[ \t\r\n]+/g, " ");
  if (spaced === " " && mistake !== "one space") return " ";
  if (mistake === "trimming") return spaced.replaceAll("\uE000", " ");
  const bare = spaced.replace(/^\p{White_Space}+/u, "").replace(/\p{White_Space}+$/u, "");
  return bare.replaceAll("\uE000", " ");
}

function fold(char: string, mistake: MapMistake): string {
  const codePoint = char.codePointAt(0)!;
  const lower = (text: string) => (mistake === "case" ? text : text.toLowerCase());
  if (!isAssigned(codePoint)) {
    return mistake === "case" ? char : String.fromCodePoint(laterLowerCase(codePoint));
  }
  let out = "";
  for (const part of char.normalize("NFKD")) {
    if (mistake === "marks" || !isMark(part)) out += lower(part);
  }
  return out;
}
