import assert from "node:assert/strict";
import { Tokenizer as Native } from "@anush008/tokenizers";
import { encodeStream } from "../../lib/tokenizer/encode_stream.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { nativeEncoder } from "../../lib/tokenizer/native_encoder.ts";
import { parseTokenizer } from "../../lib/tokenizer/parse_tokenizer.ts";
import type { Part } from "../../lib/tokenizer/tokenizer.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { goldenFiles } from "./golden_tokenizers.ts";

const TEXT = "The quick fox, naïve.\n";

const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: true, trim_offsets: false };
const text = (id: string) => ({ Sequence: { id, type_id: 0 } });
const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
const template = (...single: unknown[]) => ({
  type: "TemplateProcessing",
  single,
  pair: [text("A"), text("B")],
  special_tokens: {
    "<bos>": { id: "<bos>", ids: [0], tokens: ["<bos>"] },
    two: { id: "two", ids: [5, 7], tokens: ["5", "7"] },
  },
});

const POST_PROCESSORS: readonly [string, Part | null, number[], number[]][] = [
  ["none", null, [], []],
  ["ByteLevel", BYTE_LEVEL, [], []],
  ["a template of the text alone", template(text("A")), [], []],
  ["a template with a token before", template(special("<bos>"), text("A")), [0], []],
  [
    "a template with tokens on both sides",
    template(special("two"), special("<bos>"), text("A"), special("two")),
    [5, 7, 0],
    [5, 7],
  ],
  ["BertProcessing", { type: "BertProcessing", sep: ["a", 9], cls: ["b", 8] }, [8], [9]],
  [
    "RobertaProcessing",
    {
      type: "RobertaProcessing",
      sep: ["a", 9],
      cls: ["b", 8],
      trim_offsets: true,
      add_prefix_space: false,
    },
    [8],
    [9],
  ],
  [
    "a Sequence",
    { type: "Sequence", processors: [BYTE_LEVEL, template(special("<bos>"), text("A"))] },
    [0],
    [],
  ],
];

function withPostProcessor(part: unknown): string {
  return JSON.stringify({
    ...goldenJson<Record<string, unknown>>("tokenizers/small_bytelevel.json"),
    post_processor: part,
  });
}

async function open(json: string) {
  return await parseTokenizer(json, "test", async (...given) => (await nativeEncoder(...given))!);
}

for (const [name, part, before, after] of POST_PROCESSORS) {
  Deno.test(`special tokens of ${name} stand around a text, as the reference puts them`, async () => {
    const json = withPostProcessor(part);
    const tokenizer = await open(json);
    const ids = Array.from(await tokenizer.encode(TEXT));
    const plain = Array.from(await tokenizer.encode(TEXT, { specialTokens: false }));
    assert.deepEqual(ids, [...before, ...plain, ...after]);
    const native = Native.fromString(json);
    assert.deepEqual(ids, (await native.encode(TEXT)).getIds());
    assert.deepEqual(
      plain,
      (await native.encode(TEXT, null, { addSpecialTokens: false })).getIds(),
    );
    assert.deepEqual(Array.from(await tokenizer.encode("")), [...before, ...after]);
    for (const [specialTokens, wanted] of [[true, ids], [false, plain]] as const) {
      const bytes = [new TextEncoder().encode(TEXT)];
      const parts = encodeStream(tokenizer, bytes, { name: "text", pieceLength: 3, specialTokens });
      assert.deepEqual((await Array.fromAsync(parts)).flatMap((part) => [...part]), wanted);
    }
  });
}

for (const [name, path] of goldenFiles()) {
  Deno.test(`${name} encodes as the reference does when asked for nothing else`, async () => {
    const file = await path();
    const tokenizer = await loadTokenizer(file);
    const wanted = await Native.fromString(await Deno.readTextFile(file)).encode(TEXT);
    assert.deepEqual(Array.from(await tokenizer.encode(TEXT)), wanted.getIds());
  });
}

const REFUSED: readonly [string, Part, RegExp][] = [
  ["an unknown part", { type: "Custom" }, /its part "Custom" is not known/],
  ["a template without the text", template(special("<bos>")), /the text 0 times/],
  ["a template with the text twice", template(text("A"), text("A")), /the text 2 times/],
  ["a template of another text", template(text("B")), /template holds .*Sequence.*B/],
  ["a token that is not listed", template(special("toString"), text("A")), /holds .*toString/],
  ["a token without an id", { type: "BertProcessing", sep: ["a"], cls: ["b", 8] }, /"sep"/],
  [
    "two parts that add tokens",
    {
      type: "Sequence",
      processors: [1, 2].map(() => template(special("<bos>"), text("A"))),
    },
    /several parts/,
  ],
];

for (const [name, part, message] of REFUSED) {
  Deno.test(`a post-processor with ${name} is refused, and can be left out`, async () => {
    const json = withPostProcessor(part);
    const plain = withPostProcessor(null);
    const tokenizer = await parseTokenizer(
      json,
      "test",
      async (_, ...rest) => (await nativeEncoder(plain, ...rest))!,
    );
    await assert.rejects(tokenizer.encode(TEXT), { name: "EngramError", message });
    assert.deepEqual(
      await tokenizer.encode(TEXT, { specialTokens: false }),
      await (await open(plain)).encode(TEXT),
    );
  });
}
