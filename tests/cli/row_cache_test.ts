import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MINI = goldenPath("mini");

Deno.test("--cache changes what is read and nothing else, from a checkpoint, its shards, packed rows", async () => {
  const expected = goldenTensors("mini/expected.safetensors");
  const hashes = expected.get("hash_ids", "I32").values;
  const distinct = new Set(hashes.map((id, i) => id * 2 + Math.floor(i / 24) % 2)).size;
  await inFolder(async (folder) => {
    const [map, shards, packed] = ["map.safetensors", "shards", "packed"].map((name) =>
      join(folder, name)
    );
    for (
      const line of [
        ["map", await realTokenizer("deepseek_v3"), "--out", map],
        ["shard", MINI, "--tp", "3", "--out", shards],
        ["offload", MINI, "--out", packed],
      ]
    ) assert.equal((await cli(...line)).code, 0);
    const ids = goldenPath("mini/expected.safetensors");
    const common = [MINI, "--ids", ids, "--map", map, "--device", "cpu"];
    let runs = 0;
    const lookup = async (...flags: string[]) => {
      const out = join(folder, `${runs++}.safetensors`);
      const { code, err, json } = await cli("lookup", ...common, ...flags, "--out", out, "--json");
      assert.equal(code, 0, err);
      return { bytes: Deno.readFileSync(out), cache: json().cache };
    };
    const plain = await lookup();
    assert.equal(plain.cache, null);
    for (const from of [[], ["--tp", "5"], ["--shards", shards], ["--offload", packed]]) {
      const cached = await lookup("--cache", "2MB", ...from);
      assert.deepEqual(cached.bytes, plain.bytes, from.join(" "));
      assert.equal(cached.cache.requests, hashes.length);
      assert.equal(cached.cache.reads, distinct);
      const tight = await lookup("--cache", "40kB", ...from);
      assert.deepEqual(tight.bytes, plain.bytes, from.join(" "));
    }
    const quiet = await cli("lookup", ...common, "--cache", "1MB");
    assert.match(quiet.err, /cache: \d+\.\d % of 3,072 rows were in it, 2,\d+ were read/);
    const none = await cli("lookup", ...common, "--cache", "100");
    assert.equal(none.code, 2);
    assert.match(none.err, /Cannot keep rows in a cache of 50 bytes/);
    const evaluated = await cli("eval", ...common, "--seed", "1", "--cache", "1MB");
    assert.equal(evaluated.code, 0, evaluated.err);
    assert.match(evaluated.err, /cache: /);
  });
});
