import assert from "node:assert/strict";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { nativeEncoder } from "../../lib/tokenizer/native_encoder.ts";
import { parseSpec } from "../../lib/tokenizer/parse_spec.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { goldenFiles, SMALL } from "./golden_tokenizers.ts";
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

for (const [name, path] of goldenFiles()) {
  Deno.test(`${name} streams to the ids of the whole text`, async () => {
    const tokenizer = await loadTokenizer(await path());
    const added = tokenizer.spec.addedTokens.map(({ content }) => content).slice(0, 40);
    const rounds = Number(Deno.env.get("ENGRAM_ROUNDS") ?? 12);
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

Deno.test("a tokenizer whose ids would be random is refused", async () => {
  const root = goldenJson<{ model: { dropout: number | null } }>(
    "tokenizers/small_bytelevel.json",
  );
  root.model.dropout = 0.1;
  const json = JSON.stringify(root);
  await assert.rejects(nativeEncoder(json, parseSpec(json, "x"), "x"), {
    name: "EngramError",
    message: /its model's dropout 0.1 makes ids random/,
  });
});
