import assert from "node:assert/strict";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { utf8Text } from "../../lib/tokenizer/utf8_text.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { random } from "./random_text.ts";

async function count(stream: AsyncIterable<Int32Array>): Promise<number> {
  let tokens = 0;
  for await (const ids of stream) tokens += ids.length;
  return tokens;
}

Deno.test("one line of a million tokens is encoded piece by piece", async () => {
  const tokenizer = await loadTokenizer(goldenPath("tokenizers/small_bytelevel.json"));
  const word = new TextEncoder().encode("the quick ".repeat(1000));
  const perWord = (await tokenizer.encode("the quick".repeat(1) + " the quick".repeat(999))).length;
  let largest = 0;
  const watched = {
    ...tokenizer,
    encodeBatch: (texts: readonly string[]) => {
      largest = Math.max(largest, ...texts.map((text) => text.length));
      return tokenizer.encodeBatch(texts);
    },
  };
  const chunks = (function* () {
    for (let i = 0; i < 200; i++) yield word;
  })();
  const tokens = await count(encodeStream(watched, chunks, { name: "line" }));
  assert.ok(tokens > 1_000_000 && tokens >= perWord * 199, `${tokens} tokens`);
  assert.ok(largest < 20_000, `a piece of ${largest} characters`);
});

Deno.test("a line without a place to cut is encoded whole", async () => {
  const tokenizer = await loadTokenizer(goldenPath("tokenizers/small_bytelevel.json"));
  const text = "x".repeat(300_000);
  const whole = await tokenizer.encode(text);
  const bytes = new TextEncoder().encode(text);
  const parts: Int32Array[] = [];
  for await (const ids of encodeStream(tokenizer, [bytes], { name: "line" })) parts.push(ids);
  assert.deepEqual(parts, [whole]);
});

Deno.test("nothing gives no tokens", async () => {
  const tokenizer = await loadTokenizer(goldenPath("tokenizers/small_llama.json"));
  assert.equal(await count(encodeStream(tokenizer, [], { name: "empty" })), 0);
  assert.equal(await count(encodeStream(tokenizer, [new Uint8Array()], { name: "empty" })), 0);
});

async function decoded(bytes: number[], chunk: number): Promise<string> {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += chunk) {
    chunks.push(Uint8Array.from(bytes.slice(at, at + chunk)));
  }
  let text = "";
  for await (const part of utf8Text(chunks, "x.txt")) text += part;
  return text;
}

Deno.test("a byte order mark and NUL are part of the text", async () => {
  assert.equal(await decoded([0xef, 0xbb, 0xbf, 0x61, 0], 2), "\uFEFFa\0");
});

Deno.test("bytes that are not UTF-8 are an error with their offset, wherever chunks end", async () => {
  const bad: [number[], number][] = [
    [[0x80], 0],
    [[0x61, 0xff], 1],
    [[0x61, 0xc3, 0x28], 1],
    [[0xc3], 0],
    [[0x61, 0xe2, 0x82], 1],
    [[0xed, 0xa0, 0x80], 0],
    [[0xf0, 0x9f, 0x98, 0x80, 0xf0, 0x9f, 0x98], 4],
    [[0xe2, 0x82, 0xac, 0x62, 0xe2, 0x28, 0xa1], 4],
    [[0xc0, 0x80], 0],
    [[0xf5, 0x80, 0x80, 0x80], 0],
    [[0x61, 0x62, 0xbf, 0x63], 2],
  ];
  for (const [bytes, offset] of bad) {
    for (let chunk = 1; chunk <= bytes.length; chunk++) {
      await assert.rejects(decoded(bytes, chunk), {
        name: "EngramError",
        kind: "malformed",
        message: `Cannot read text \`x.txt\`: found byte 0x${
          bytes[offset].toString(16)
        } at offset ${offset}, wanted UTF-8`,
      }, `${bytes} in chunks of ${chunk}`);
    }
  }
});

Deno.test("random bytes are refused at the place Python's decoder would name", async () => {
  const next = random(3);
  for (let round = 0; round < 300; round++) {
    const good = new TextEncoder().encode(
      Array.from({ length: next(20) }, () => ["a", "é", "€", "😀"][next(4)]).join(""),
    );
    const bytes = [...good, 0x80 + next(0x40), ...new TextEncoder().encode("tail")];
    await assert.rejects(decoded(bytes, 1 + next(7)), (error: Error) => {
      assert.match(error.message, new RegExp(`at offset ${good.length},`));
      return true;
    });
  }
});
