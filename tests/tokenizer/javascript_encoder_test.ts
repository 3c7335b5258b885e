import assert from "node:assert/strict";
import { doubtfulPart, javascriptEncoder } from "../../lib/tokenizer/javascript_encoder.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { isAssigned } from "../../lib/tokenizer/unicode.ts";
import { goldenFiles } from "./golden_tokenizers.ts";
import { randomText } from "./random_text.ts";

/** What of each golden tokenizer only the native library does right. */
const DOUBTS: Record<string, string> = {
  small_wordpiece: "WordPiece model",
  small_wordlevel: "WordLevel model",
  small_clip: "model's end_of_word_suffix",
};

/** Large, and of kinds that the others cover: tried with ENGRAM_LONG only. */
const LONG = ["gemma3", "gptoss", "llama3"];

for (const [name, path] of goldenFiles()) {
  if (LONG.includes(name) && !Deno.env.get("ENGRAM_LONG")) continue;
  Deno.test(`without the native library ${name} is encoded the same or refused`, async () => {
    const file = await path();
    const tokenizer = await loadTokenizer(file);
    const json = await Deno.readTextFile(file);
    assert.equal(await doubtfulPart(tokenizer.spec), DOUBTS[name] ?? null);
    if (DOUBTS[name]) {
      await assert.rejects(javascriptEncoder(json, tokenizer.spec, name), {
        kind: "unavailable",
        message: `Cannot encode with tokenizer \`${name}\`: the native tokenizer library is not ` +
          `loaded, and its ${DOUBTS[name]} is not done right without it`,
      });
      return;
    }
    const javascript = await javascriptEncoder(json, tokenizer.spec, name);
    const added = tokenizer.spec.addedTokens.map(({ content }) => content).slice(0, 40);
    const rounds = Number(Deno.env.get("ENGRAM_ROUNDS") ?? 15);
    for (let seed = 0; seed < rounds; seed++) {
      const text = [...randomText(seed, 60, added)].filter((char) =>
        isAssigned(char.codePointAt(0)!)
      ).join("");
      const [ids] = await javascript.encodeBatch([text]);
      assert.deepEqual(ids, await tokenizer.encode(text, { specialTokens: false }), `seed ${seed}`);
    }
    await assert.rejects(async () => await javascript.encodeBatch(["a\u{1F970}"]), {
      kind: "unavailable",
    });
  });
}
