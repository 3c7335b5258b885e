/**
 * The compressed token map of DeepSeek-V3's tokenizer, and encoding text: beside the plainest way to
 * do each with the same libraries.
 */
import { Tokenizer as Native } from "@anush008/tokenizers";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { buildTokenMap } from "../../lib/tokenizer/token_map.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const path = await realTokenizer("deepseek_v3");
const tokenizer = await loadTokenizer(path);
const native = Native.fromFile(path);
const text = (await Deno.readTextFile(new URL("../../README.md", import.meta.url))).repeat(100)
  .slice(0, 2 ** 20);
const bytes = new TextEncoder().encode(text);
await tokenizer.encode("warm");

Deno.bench("load the tokenizer", { group: "map" }, async () => {
  await loadTokenizer(path);
});

Deno.bench("build the map", { group: "map", baseline: true }, () => {
  buildTokenMap(tokenizer);
});

Deno.bench(
  "build the map plainly: native decoding, the engine's Unicode",
  { group: "map" },
  async () => {
    const ids = Array.from({ length: tokenizer.tokens }, (_, id) => [id]);
    const keys = new Map<string, number>();
    for (const decoded of await native.decodeBatch(ids, false)) {
      const marks = decoded.normalize("NFKC").normalize("NFD").replace(/\p{M}+/gu, "");
      const key = marks.toLowerCase().replace(/[ \t\r\n]+/g, " ").trim();
      keys.set(key, keys.get(key) ?? keys.size);
    }
  },
);

Deno.bench(
  "encode 1 MiB of text in pieces on all cores",
  { group: "encode", baseline: true },
  async () => {
    for await (const _ of encodeStream(tokenizer, [bytes], { name: "text" }));
  },
);

Deno.bench("encode 1 MiB of text in one piece", { group: "encode" }, async () => {
  await native.encode(text, null, { addSpecialTokens: false });
});
