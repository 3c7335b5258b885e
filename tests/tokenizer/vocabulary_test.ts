import assert from "node:assert/strict";
import fc from "fast-check";
import { Tokenizer } from "@anush008/tokenizers";
import { javascriptEncoder } from "../../lib/tokenizer/javascript_encoder.ts";
import { parseTokenizer } from "../../lib/tokenizer/parse_tokenizer.ts";

/** Few and colliding strings, so that tokens repeat, nest and clash. */
const word = fc.constantFrom(
  "a",
  "b",
  "c",
  "d",
  "Ġa",
  "ĠĊ",
  "é",
  "Ã©",
  "<0x41>",
  "<0xE9>",
  "<0x+a>",
  "<0xé>",
  "▁",
  "▁▁x▁",
  "##s",
  "s</w>",
  "</w>",
  " . ",
  " do not ",
  "x n't 've",
  "|",
  "<pad>",
  "a|b<pad>",
  "\uFFFD",
  "ĠĠĠ",
  "  a  ",
  "Ł",
);

const model = fc.oneof(
  fc.uniqueArray(word, { minLength: 1 }).chain((words) =>
    fc.uniqueArray(fc.nat(30), { minLength: words.length, maxLength: words.length }).map((ids) => ({
      type: "WordLevel",
      vocab: Object.fromEntries(words.map((token, i) => [token, ids[i]])),
      unk_token: "a",
    }))
  ),
  fc.array(word, { minLength: 1 }).map((words) => ({
    type: "Unigram",
    unk_id: 0,
    vocab: words.map((token, i) => [token, -i]),
  })),
);

const addedTokens = fc.array(
  fc.record({
    id: fc.nat(40),
    content: fc.oneof(word, fc.constantFrom("", "new", "newer", "x")),
    single_word: fc.constant(false),
    lstrip: fc.constant(false),
    rstrip: fc.constant(false),
    normalized: fc.boolean(),
    special: fc.boolean(),
  }),
  { maxLength: 8 },
);

const single = fc.oneof(
  fc.record({ type: fc.constant("BPEDecoder"), suffix: fc.constantFrom("</w>", "") }),
  fc.constant({ type: "ByteFallback" }),
  fc.constant({
    type: "ByteLevel",
    add_prefix_space: true,
    trim_offsets: true,
    use_regex: true,
  }),
  fc.record({
    type: fc.constant("CTC"),
    pad_token: fc.constant("<pad>"),
    word_delimiter_token: fc.constant("|"),
    cleanup: fc.boolean(),
  }),
  fc.constant({ type: "Fuse" }),
  fc.record({
    type: fc.constant("Metaspace"),
    replacement: fc.constantFrom("▁", "a"),
    prepend_scheme: fc.constantFrom("always", "first", "never"),
    split: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("Replace"),
    pattern: fc.constantFrom(
      { String: "▁" },
      { String: "a" },
      { Regex: "[a-c]+" },
      { Regex: "\\s+$" },
      { Regex: "(?i:X)|\\p{L}(?!\\|)" },
      { Regex: "^" },
    ),
    content: fc.constantFrom(" ", "", "$&$1\\0"),
  }),
  fc.record({
    type: fc.constant("Strip"),
    content: fc.constantFrom(" ", "a"),
    start: fc.nat(3),
    stop: fc.constant(0),
  }),
  fc.record({
    type: fc.constant("WordPiece"),
    prefix: fc.constant("##"),
    cleanup: fc.boolean(),
  }),
);
const decoder = fc.oneof(
  fc.constant(null),
  single,
  fc.array(single, { minLength: 1, maxLength: 3 }).map((decoders) => ({
    type: "Sequence",
    decoders,
  })),
);

Deno.test("ids, tokens and single-id texts are the reference's for any vocabulary and decoder", async () => {
  await fc.assert(
    fc.asyncProperty(model, addedTokens, decoder, async (model, added_tokens, decoder) => {
      const json = JSON.stringify({
        version: "1.0",
        truncation: null,
        padding: null,
        added_tokens,
        normalizer: null,
        pre_tokenizer: null,
        post_processor: null,
        decoder,
        model,
      });
      const reference = Tokenizer.fromString(json);
      const ours = await parseTokenizer(json, "random", javascriptEncoder);
      assert.equal(ours.tokens, reference.getVocabSize(true));
      const ids = Array.from({ length: 60 }, (_, id) => id);
      assert.deepEqual(
        ids.map((id) => ours.rawToken(id) ?? null),
        ids.map((id) => reference.idToToken(id)),
      );
      assert.deepEqual(
        ids.map((id) => ours.decodeOne(id)),
        await reference.decodeBatch(ids.map((id) => [id]), false),
      );
    }),
    { numRuns: Number(Deno.env.get("ENGRAM_RUNS") ?? 300) },
  );
});
