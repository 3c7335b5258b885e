/** A small seeded generator (xorshift32), so that a failing text can be made again from its seed. */
export function random(seed: number): (below: number) => number {
  let state = (seed * 2654435761 + 88675123) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const WORDS = [
  "the",
  "The",
  "QUICK",
  "brown",
  "don't",
  "we'LL",
  "naïve",
  "ΟΔΥΣΣΕΥΣ",
  "四大",
  "한글",
  "e\u0301",
  "\u212B",
  "ﬁne",
  "İstanbul",
  "ß",
  "нет",
  "שלום",
  "नमस्ते",
  "ทำ",
  "😀",
  "👩‍👧",
  "x1",
  "2024",
  "3.14",
  "a_b",
  "foo.bar()",
  "https://a.b/c?d=e",
  "<|x|>",
  "▁",
  "▁a",
  "##s",
  "</w>",
  "\uFFFD",
  "\uFEFF",
];
const GAPS = [
  " ",
  " ",
  " ",
  " ",
  "  ",
  "   ",
  "\n",
  "\n\n",
  " \n",
  "\n ",
  ".\n",
  ". ",
  ", ",
  "\t",
  "\r\n",
  "\u00A0",
  "\u3000",
  "\u0085",
  "\u200B",
  "",
  "!",
  "...",
  "-",
  "'",
  '"',
  "/",
  "\u0301",
  " \u0301",
];

/** A text of words, gaps, added tokens and stray code points that tempt tokenizers to differ. */
export function randomText(seed: number, pieces: number, added: readonly string[] = []): string {
  const next = random(seed + 1);
  let text = "";
  for (let i = next(pieces); i >= 0; i--) {
    const kind = next(20);
    if (kind === 0 && added.length > 0) text += added[next(added.length)];
    else if (kind === 1) text += codePoint(next(0x110000));
    else if (kind === 2) text += codePoint(next(0x3000));
    else text += WORDS[next(WORDS.length)];
    text += GAPS[next(GAPS.length)];
  }
  return text;
}

function codePoint(value: number): string {
  return value >= 0xd800 && value < 0xe000 ? "?" : String.fromCodePoint(value);
}
