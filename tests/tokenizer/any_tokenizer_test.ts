import assert from "node:assert/strict";
import fc from "fast-check";
import { Tokenizer as Native } from "@anush008/tokenizers";
import { EngramError } from "../../lib/errors.ts";
import { cutRule } from "../../lib/tokenizer/cut_rule.ts";
import type { EncoderOpener } from "../../lib/tokenizer/encoder.ts";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { GPT2_PATTERN } from "../../lib/tokenizer/gpt2_pattern.ts";
import { javascriptEncoder } from "../../lib/tokenizer/javascript_encoder.ts";
import { nativeEncoder } from "../../lib/tokenizer/native_encoder.ts";
import { parseSpec } from "../../lib/tokenizer/parse_spec.ts";
import { parseTokenizer } from "../../lib/tokenizer/parse_tokenizer.ts";

/** Few characters, so that merges, added tokens and gaps meet often. */
const ALPHABET = [
  "a",
  "B",
  "b",
  " ",
  " ",
  " ",
  "\n",
  "▁",
  "1",
  ".",
  ",",
  "é",
  "e\u0301",
  "字",
  "\t",
  "<x>",
  "'s",
];
const piece = fc.constantFrom(...ALPHABET);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));

const replace = fc.record({
  type: fc.constant("Replace"),
  pattern: fc.constantFrom<unknown>({ String: " " }, { String: "B" }, { Regex: " {2,}" }, {
    Regex: "\\s",
  }),
  content: fc.constantFrom("▁", " ", "b", ""),
});
const normalizer = fc.oneof(
  fc.constantFrom(
    { type: "NFC" },
    { type: "NFD" },
    { type: "NFKC" },
    { type: "Lowercase" },
    { type: "StripAccents" },
    { type: "Prepend", prepend: "▁" },
    { type: "Strip", strip_left: false, strip_right: true },
    { type: "Strip", strip_left: true, strip_right: true },
    {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
  ),
  replace,
);
const normalizers = fc.oneof(
  { weight: 2, arbitrary: fc.constant(null) },
  fc.constant({
    type: "Sequence",
    normalizers: [
      { type: "Prepend", prepend: "▁" },
      { type: "Replace", pattern: { String: " " }, content: "▁" },
    ],
  }),
  fc.array(normalizer, { maxLength: 3 }).map((normalizers) => ({ type: "Sequence", normalizers })),
);

const PATTERNS = [
  GPT2_PATTERN,
  String
    .raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  String.raw`\p{N}`,
  String.raw`\s+`,
  String.raw`\w+|\s`,
  String.raw`.\s`,
  " ?b+",
];
const preTokenizer = fc.oneof(
  fc.constantFrom(
    { type: "Whitespace" },
    { type: "WhitespaceSplit" },
    { type: "BertPreTokenizer" },
    { type: "Digits", individual_digits: true },
    { type: "Digits", individual_digits: false },
    { type: "FixedLength", length: 3 },
  ),
  fc.record({
    type: fc.constant("Punctuation"),
    behavior: fc.constantFrom(
      "Isolated",
      "Contiguous",
      "MergedWithPrevious",
      "MergedWithNext",
      "Removed",
    ),
  }),
  fc.record({
    type: fc.constant("Metaspace"),
    replacement: fc.constant("▁"),
    prepend_scheme: fc.constantFrom("always", "first", "never"),
    split: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("ByteLevel"),
    add_prefix_space: fc.boolean(),
    trim_offsets: fc.constant(true),
    use_regex: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("Split"),
    pattern: fc.oneof(
      fc.constantFrom(...PATTERNS).map((Regex) => ({ Regex })),
      fc.constantFrom<unknown>({ String: " " }, { String: "a" }),
    ),
    behavior: fc.constantFrom(
      "Isolated",
      "Isolated",
      "Removed",
      "MergedWithPrevious",
      "MergedWithNext",
    ),
    invert: fc.boolean(),
  }),
);
const preTokenizers = fc.oneof(
  fc.constant(null),
  preTokenizer,
  fc.array(preTokenizer, { minLength: 1, maxLength: 3 }).map((pretokenizers) => ({
    type: "Sequence",
    pretokenizers,
  })),
);

const chars = [...new Set([...ALPHABET.join(""), ..."ĠĊĉÃ©<x>åŃĹâĸģ"])];
const joins = [
  "aa",
  "ab",
  "bb",
  "▁a",
  "▁▁",
  "a▁",
  "Ġa",
  "ĠĠ",
  "  ",
  " a",
  "\n ",
  "..",
  "aaa",
  "Ġb",
  "a ",
  "1.",
  ".\n",
];
const model = fc.oneof(
  fc.record({
    merges: fc.uniqueArray(fc.constantFrom(...joins)),
    fuse: fc.boolean(),
    skip: fc.boolean(),
  })
    .map(({ merges, fuse, skip }) => ({
      type: "BPE",
      dropout: null,
      unk_token: "<unk>",
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: fuse,
      byte_fallback: false,
      ignore_merges: skip,
      vocab: Object.fromEntries(
        ["<unk>", ...chars, ...merges, "aaaa"].map((token, id) => [token, id]),
      ),
      merges: merges.filter((token) => token.length === 2).map((token) => [token[0], token[1]]),
    })),
  fc.constant({
    type: "Unigram",
    unk_id: 0,
    byte_fallback: false,
    vocab: ["<unk>", ...chars, ...joins].map((token, id) => [token, -id / 7]),
  }),
  fc.constant({
    type: "WordLevel",
    unk_token: "a",
    vocab: Object.fromEntries([...chars, ...joins].map((token, id) => [token, id])),
  }),
  fc.constant({
    type: "WordPiece",
    unk_token: "a",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(
      [...chars, ...chars.map((c) => `##${c}`), ...joins].map((t, i) => [t, i]),
    ),
  }),
);

const addedTokens = fc.uniqueArray(
  fc.record({
    id: fc.constant(0),
    content: fc.constantFrom("<x>", "a b", " b", "b ", "B", "\n\n", ".", "a"),
    single_word: fc.boolean(),
    lstrip: fc.boolean(),
    rstrip: fc.boolean(),
    normalized: fc.boolean(),
    special: fc.boolean(),
  }),
  { maxLength: 2, selector: ({ content }) => content },
).filter((tokens) =>
  // The reference aborts where white space that one token strips begins another.
  !(tokens.some(({ rstrip }) => rstrip) && tokens.some(({ content }) => /^[\sB]/.test(content)))
);

const tokenizerJson = fc.record({
  version: fc.constant("1.0"),
  truncation: fc.constantFrom(null, {
    direction: "Right",
    max_length: 4,
    strategy: "LongestFirst",
    stride: 0,
  }),
  padding: fc.constantFrom(null, {
    strategy: { Fixed: 64 },
    direction: "Left",
    pad_to_multiple_of: null,
    pad_id: 3,
    pad_type_id: 0,
    pad_token: "b",
  }),
  added_tokens: addedTokens,
  normalizer: normalizers,
  pre_tokenizer: preTokenizers,
  post_processor: fc.constant(null),
  decoder: fc.constant(null),
  model,
}).map((root) => JSON.stringify(root));

/** Opens the native library; the few tokenizers that are refused are left out. */
const openNative: EncoderOpener = async (json, spec, name) => {
  try {
    return (await nativeEncoder(json, spec, name))!;
  } catch (error) {
    fc.pre(!(error instanceof EngramError));
    throw error;
  }
};

const runs = Number(Deno.env.get("ENGRAM_RUNS") ?? 500);

Deno.test("a stream's ids are the whole text's for any tokenizer, however finely it is cut", async () => {
  let judged = 0;
  await fc.assert(
    fc.asyncProperty(
      tokenizerJson,
      text,
      fc.integer({ min: 1, max: 8 }),
      async (json, text, length) => {
        const tokenizer = await parseTokenizer(
          json,
          "random",
          openNative,
        );
        const rule = await cutRule(tokenizer.spec);
        if (rule) judged++;
        const ids: number[] = [];
        const bytes = [new TextEncoder().encode(text)];
        for await (
          const part of encodeStream(tokenizer, bytes, {
            name: "text",
            pieceLength: length,
            batch: 2,
          })
        ) {
          ids.push(...part);
        }
        assert.deepEqual(ids, Array.from(await tokenizer.encode(text)));
      },
    ),
    { numRuns: runs },
  );
  assert.ok(judged > runs / 10, `only ${judged} of ${runs} tokenizers could be cut`);
});

Deno.test("truncation and padding change no id", async () => {
  await fc.assert(
    fc.asyncProperty(tokenizerJson, text, async (json, text) => {
      const [ids] = await (await openNative(json, parseSpec(json, "random"), "random"))
        .encodeBatch([text]);
      const plain = { ...JSON.parse(json), truncation: null, padding: null };
      const wanted = await Native.fromString(JSON.stringify(plain)).encode(text, null, {
        addSpecialTokens: false,
      });
      assert.deepEqual(Array.from(ids), wanted.getIds());
    }),
    { numRuns: 100 },
  );
});

Deno.test("the JavaScript library gives the reference's ids for any tokenizer it is trusted with", async () => {
  await fc.assert(
    fc.asyncProperty(tokenizerJson, text, async (json, text) => {
      const tokenizer = await parseTokenizer(json, "random", openNative);
      let encoder;
      try {
        encoder = await javascriptEncoder(json, tokenizer.spec, "random");
      } catch {
        return;
      }
      const [ids] = await encoder.encodeBatch([text]);
      assert.deepEqual(
        Array.from(ids),
        Array.from(await tokenizer.encode(text, { specialTokens: false })),
      );
    }),
    { numRuns: runs },
  );
});
