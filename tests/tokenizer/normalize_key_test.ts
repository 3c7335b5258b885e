import assert from "node:assert/strict";
import {
  lowercase,
  nfdNormalizer,
  nfkcNormalizer,
  sequenceNormalizer,
  stripAccentsNormalizer,
  stripNormalizer,
} from "@anush008/tokenizers";
import { normalizeKey } from "../../lib/tokenizer/normalize_key.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { random } from "./random_text.ts";

const golden = goldenJson<{
  strings: [string, string][];
  code_points: Record<string, [alone: string, between: string]>;
}>("normalizer.json");

Deno.test("the golden strings normalize as the reference does", () => {
  for (const [input, wanted] of golden.strings) {
    assert.equal(normalizeKey(input), wanted, JSON.stringify(input));
  }
});

Deno.test("every code point normalizes as the reference does, alone and between letters", () => {
  for (let codePoint = 0; codePoint < 0x110000; codePoint++) {
    if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
    const char = String.fromCodePoint(codePoint);
    const hex = codePoint.toString(16);
    const [alone, between] = golden.code_points[hex] ?? [char, `x${char}y`];
    if (normalizeKey(char) === alone && normalizeKey(`x${char}y`) === between) continue;
    assert.deepEqual([normalizeKey(char), normalizeKey(`x${char}y`)], [alone, between], hex);
  }
});

/** The reference library's own normalizers; the three replacements it makes by regex are plain here. */
function reference(text: string): string {
  const folded = fold.normalizeString(text).replace(/[ \t\r\n]+/g, " ");
  const marked = folded === " " ? "\uE000" : folded;
  return strip.normalizeString(marked).replaceAll("\uE000", " ");
}
const fold = sequenceNormalizer([
  nfkcNormalizer(),
  nfdNormalizer(),
  stripAccentsNormalizer(),
  lowercase(),
]);
const strip = stripNormalizer(true, true);

Deno.test("random strings normalize as the reference's own normalizers do", () => {
  const next = random(7);
  // Where the engines' Unicode versions differ, and what composes, reorders or is white space.
  const special = Object.keys(golden.code_points).map((hex) => parseInt(hex, 16));
  const unchanged = [0x20, 0x20, 0x61, 0x1cf2, 0x32ff, 0x1e030, 0x16ea0, 0x111c9, 0x1dfa, 0x115f];
  const rounds = Number(Deno.env.get("ENGRAM_RUNS") ?? 20_000);
  for (let round = 0; round < rounds; round++) {
    const codePoints = Array.from({ length: 1 + next(8) }, () => {
      const kind = next(8);
      if (kind < 4) return special[next(special.length)];
      if (kind < 5) return unchanged[next(unchanged.length)];
      if (kind < 6) return 0x300 + next(0x70);
      return next(2) ? next(0x3400) : next(0x20000);
    }).filter((codePoint) => codePoint < 0xd800 || codePoint >= 0xe000);
    const text = String.fromCodePoint(...codePoints);
    assert.equal(normalizeKey(text), reference(text), codePoints.map((c) => c.toString(16)).join());
  }
});
