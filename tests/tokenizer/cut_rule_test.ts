import assert from "node:assert/strict";
import { cutRule } from "../../lib/tokenizer/cut_rule.ts";
import { parseSpec } from "../../lib/tokenizer/parse_spec.ts";
import { goldenFiles } from "./golden_tokenizers.ts";

const TEXT = "The quick brown fox, 四大 naïve\nstops here. ".repeat(20);

async function cuts(json: string): Promise<number | null> {
  const rule = await cutRule(parseSpec(json, "test"));
  if (!rule) return null;
  let count = 0;
  for (let cut = rule.find(TEXT, 0); cut; cut = rule.find(TEXT, cut.begin + 1)) count++;
  return count;
}

for (const [name, path] of goldenFiles()) {
  Deno.test(`texts for ${name} can be cut`, async () => {
    const count = await cuts(await Deno.readTextFile(await path()));
    assert.ok(count !== null && count >= 19, `found ${count} cuts`);
  });
}

/** A BPE tokenizer without a pre-tokenizer, with parts put in. */
function bpe(parts: Record<string, unknown> = {}, model: Record<string, unknown> = {}): string {
  const vocab = Object.fromEntries([..." \nabdeinopqrstuvwxTf.,h", "e x"].map((t, i) => [t, i]));
  return JSON.stringify({
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    decoder: null,
    model: { type: "BPE", vocab, merges: [], ...model },
    ...parts,
  });
}

function added(content: string, flags: Record<string, boolean> = {}) {
  const none = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return { added_tokens: [{ id: 0, content, ...none, special: true, ...flags }] };
}

Deno.test("without a pre-tokenizer only pairs that no token holds are cut", async () => {
  assert.ok((await cuts(bpe()))! > 0);
  const joined = JSON.parse(bpe());
  for (const a of ["e ", "k ", "n ", ", ", "s ", ". ", "e\n"]) joined.model.vocab[a] = 1000;
  assert.equal(await cuts(JSON.stringify(joined)), 0);
});

Deno.test("nothing is cut where a stage cannot be judged", async () => {
  const split = (Regex: string, behavior = "Isolated") => ({
    pre_tokenizer: { type: "Split", pattern: { Regex }, behavior, invert: false },
  });
  const refused: [string, string][] = [
    ["a merge list that is skipped for whole words", bpe({}, { ignore_merges: true })],
    ["dropout", bpe({}, { dropout: 0.1 })],
    ["a Unigram model over the whole text", bpe({}, { type: "Unigram", vocab: [["a", 0]] })],
    ["a pattern anchored at the end", bpe(split(String.raw`\s+$|\s|\S+`))],
    ["a pattern that looks back", bpe(split(String.raw`(?<=a)\s|\S+`))],
    ["a pattern that looks far ahead", bpe(split(String.raw`\s(?!ab)|\S+`))],
    ["a pattern with word boundaries", bpe(split(String.raw`\b\w+\b|\s`))],
    ["merging splits", bpe(split(String.raw`\s+`, "MergedWithNext"))],
    ["pieces of fixed length", bpe({ pre_tokenizer: { type: "FixedLength", length: 5 } })],
    ["an unknown normalizer", bpe({ normalizer: { type: "Precompiled" } })],
    ["stripping at the left", bpe({ normalizer: { type: "Strip", strip_left: true } })],
    ["a single word that begins with a space", bpe(added(" x", { single_word: true }))],
  ];
  for (const [what, json] of refused) assert.equal(await cuts(json), null, what);
});

Deno.test("no cut lies within or right after an added token that reaches over it", async () => {
  const plain = (await cuts(bpe()))!;
  assert.ok((await cuts(bpe(added("ox, q"))))! < plain);
  assert.ok((await cuts(bpe(added("here.", { rstrip: true }))))! < plain);
  assert.equal(await cuts(bpe(added("zzz", { rstrip: true }))), plain);
});
