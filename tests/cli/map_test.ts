import assert from "node:assert/strict";
import { readTokenMap } from "../../lib/tokenizer/saved_map.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { REAL, realTokenizer, SMALL } from "../tokenizer/golden_tokenizers.ts";

Deno.test("map gives a tokenizer's sizes and digest", async () => {
  const [, path, golden] = SMALL[0];
  const { code, json, err } = await cli("map", path, "--json");
  assert.equal(code, 0, err);
  assert.deepEqual(json(), {
    tokenizer: path,
    tokens: golden.tokens,
    compressed_vocab_size: golden.compressed_vocab_size,
    undecodable: golden.undecodable,
    sha256: golden.sha256_int32_le,
    known: null,
    out: null,
  });
  const text = await cli("map", path);
  assert.match(text.out, /tokens +2,000\n.*compressed vocabulary +1,585\n/);
  assert.match(text.out, new RegExp(golden.sha256_int32_le));
});

Deno.test("map knows the real tokenizers, and takes their folder", async () => {
  const path = await realTokenizer("llama2");
  const golden = REAL.find(([name]) => name === "llama2")![1];
  const { json } = await cli("map", path.replace("/tokenizer.json", ""), "--json");
  assert.equal(json().known, "Llama 2");
  assert.equal(json().sha256, golden.sha256_int32_le);
});

Deno.test("map --out saves the map and does not overwrite it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [, path, golden] = SMALL[1];
    const out = `${folder}/map.safetensors`;
    assert.equal((await cli("map", path, "--out", out)).code, 0);
    assert.deepEqual(Array.from((await readTokenMap(out)).map), golden.map);
    const again = await cli("map", path, "--out", out, "--json");
    assert.equal(again.code, 4);
    assert.match(JSON.parse(again.err).error.hint, /--force/);
    assert.equal((await cli("map", path, "--out", out, "--force")).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("map names what is wrong with its input", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const cases: [string | null, number, RegExp][] = [
      [null, 4, /no such file/],
      ["{", 3, /it is not JSON/],
      ["[]", 3, /it is not an object/],
      ["{}", 3, /it has no "model"/],
      [`{"model":{"type":"New"}}`, 3, /its model is "New", wanted one of BPE/],
      [`{"model":{"type":"BPE","vocab":[]}}`, 3, /"vocab" is not an object/],
      [`{"model":{"type":"BPE","vocab":{"a":1,"b":1}}}`, 3, /tokens "a" and "b" have the id 1/],
      [`{"model":{"type":"BPE","vocab":{"a":0.5}}}`, 3, /token "a" has the id 0.5/],
      [`{"model":{"type":"Unigram","vocab":[["a"]]}}`, 3, /entry 0 .* is not \[token, score\]/],
      [`{"model":{"type":"BPE","vocab":{}},"decoder":{"type":"New"}}`, 3, /its decoder "New"/],
      [`{"model":{"type":"BPE","vocab":{}},"decoder":{"type":"Strip"}}`, 3, /Strip decoder's "con/],
      [`{"model":{"type":"BPE","vocab":{}},"decoder":"x"}`, 3, /its "decoder" is/],
      [`{"model":{"type":"BPE","vocab":{}},"added_tokens":[{}]}`, 3, /added token .* incomplete/],
    ];
    for (const [content, code, message] of cases) {
      const path = `${folder}/tokenizer.json`;
      if (content !== null) await Deno.writeTextFile(path, content);
      const result = await cli("map", path);
      assert.equal(result.code, code, result.err);
      assert.match(result.err, message);
      assert.match(result.err, /tokenizer\.json/);
    }
    await Deno.writeFile(`${folder}/tokenizer.json`, Uint8Array.of(0xff, 0xfe));
    assert.match((await cli("map", folder)).err, /it is not UTF-8 text/);
    assert.equal((await cli("map", goldenPath("tokenizers"))).code, 4);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
