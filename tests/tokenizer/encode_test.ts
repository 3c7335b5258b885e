import assert from "node:assert/strict";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { cutRule } from "../../lib/tokenizer/cut_rule.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { REAL, realTokenizer, SMALL } from "./golden_tokenizers.ts";
import { randomText } from "./random_text.ts";

for (const [name, path, golden] of SMALL) {
  Deno.test(`${name} encodes to the reference's ids`, async () => {
    const tokenizer = await loadTokenizer(path);
    assert.deepEqual(Array.from(await tokenizer.encode(golden.encode.text)), golden.encode.ids);
  });
}

async function streamed(tokenizer: Tokenizer, text: string, options: {
  readBytes: number;
  pieceLength: number;
  batch: number;
}): Promise<number[]> {
  const bytes = new TextEncoder().encode(text);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += options.readBytes) {
    chunks.push(bytes.subarray(at, at + options.readBytes));
  }
  const ids: number[] = [];
  for await (const part of encodeStream(tokenizer, chunks, { name: "text", ...options })) {
    ids.push(...part);
  }
  return ids;
}

const files: [string, () => string | Promise<string>][] = [
  ...SMALL.map(([name, path]): [string, () => string] => [name, () => path]),
  ...REAL.map(([name]): [string, () => Promise<string>] => [name, () => realTokenizer(name)]),
];

for (const [name, path] of files) {
  Deno.test(`${name} streams to the ids of the whole text`, async () => {
    const tokenizer = await loadTokenizer(await path());
    const added = tokenizer.spec.addedTokens.map(({ content }) => content).slice(0, 40);
    const rounds = Number(Deno.env.get("ENGRAM_ROUNDS") ?? 40);
    for (let seed = 0; seed < rounds; seed++) {
      const text = randomText(seed, 400, added);
      const whole = Array.from(await tokenizer.encode(text));
      const cut = await streamed(tokenizer, text, {
        readBytes: 1 + seed % 50,
        pieceLength: 1 + seed % 7,
        batch: 1 + seed % 3,
      });
      assert.deepEqual(cut, whole, `seed ${seed}: ${JSON.stringify(text)}`);
    }
  });
}

Deno.test("pieces are really cut where a rule was found", async () => {
  const cuts: Record<string, number | null> = {};
  for (const [name, path] of files) {
    const rule = await cutRule((await loadTokenizer(await path())).spec);
    const text = "The quick brown fox, 四大 naïve\nstops here. ".repeat(20);
    let count = 0;
    for (let at = 0; rule;) {
      const cut = rule.find(text, at);
      if (!cut) break;
      count++;
      at = cut.begin + 1;
    }
    cuts[name] = rule ? count : null;
  }
  console.log(cuts);
});
