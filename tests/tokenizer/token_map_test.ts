import assert from "node:assert/strict";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { buildTokenMap } from "../../lib/tokenizer/token_map.ts";
import { REAL, realTokenizer, SMALL } from "./golden_tokenizers.ts";

for (const [name, path, golden] of SMALL) {
  Deno.test(`the map of ${name} is the reference's`, async () => {
    const made = buildTokenMap(await loadTokenizer(path));
    assert.deepEqual(Array.from(made.map), golden.map);
    assert.equal(made.map.length, golden.tokens);
    assert.equal(made.compressedVocabSize, golden.compressed_vocab_size);
    assert.equal(made.undecodable, golden.undecodable);
    assert.equal(made.sha256, golden.sha256_int32_le);
  });
}

for (const [name, golden] of REAL) {
  Deno.test(`the map of the real tokenizer ${name} is the reference's`, async () => {
    const made = buildTokenMap(await loadTokenizer(await realTokenizer(name)));
    assert.equal(made.map.length, golden.tokens);
    assert.equal(made.compressedVocabSize, golden.compressed_vocab_size);
    assert.equal(made.undecodable, golden.undecodable);
    assert.equal(made.sha256, golden.sha256_int32_le);
  });
}
