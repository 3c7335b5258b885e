import assert from "node:assert/strict";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { readTokenMap, writeTokenMap } from "../../lib/tokenizer/saved_map.ts";
import { buildTokenMap } from "../../lib/tokenizer/token_map.ts";
import { goldenPath } from "../golden/golden_data.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a saved map comes back whole", () =>
  inFolder(async (folder) => {
    const path = `${folder}/map.safetensors`;
    const map = buildTokenMap(await loadTokenizer(goldenPath("tokenizers/small_llama.json")));
    await writeTokenMap(path, map, { source: "small_llama" });
    assert.deepEqual(await readTokenMap(path), map);
    await assert.rejects(writeTokenMap(path, map, { source: "again" }), { kind: "unavailable" });
    await writeTokenMap(path, map, { source: "again", force: true });
    const bare = { ...map, undecodable: null };
    await writeTokenMap(path, bare, { source: "bare", force: true });
    assert.deepEqual(await readTokenMap(path), bare);
  }));

const ids = (list: number[]) => ({
  name: "token_map",
  dtype: "I32" as const,
  shape: [list.length],
  data: Int32Array.from(list),
});

Deno.test("a map that contradicts itself is refused, each with its reason", () =>
  inFolder(async (folder) => {
    const path = `${folder}/map.safetensors`;
    const refused: [RegExp, Parameters<typeof writeSafetensors>[1], Record<string, string>?][] = [
      [/Cannot find tensor "token_map"/, [{ ...ids([0]), name: "other" }]],
      [/token_map is I64 \[1\], wanted I32/, [
        { name: "token_map", dtype: "I64", shape: [1], data: new BigInt64Array(1) },
      ]],
      [/token_map is I32 \[2,1\]/, [{ ...ids([0, 1]), shape: [2, 1] }]],
      [/token 1 has the compressed id -1/, [ids([0, -1])]],
      [/token 0 has the compressed id 1, wanted from 0 to 0/, [ids([1, 0])]],
      [/token 2 has the compressed id 3, wanted from 0 to 2/, [ids([0, 1, 3])]],
      [/give tokens 2, its metadata says "3"/, [ids([0, 1])], { tokens: "3" }],
      [/give compressed_vocab_size 1, its/, [ids([0, 0])], { compressed_vocab_size: "2" }],
      [/give sha256 [0-9a-f]{64}, its metadata says "00"/, [ids([0])], { sha256: "00" }],
      [/says undecodable "many"/, [ids([0])], { undecodable: "many" }],
    ];
    for (const [message, entries, metadata = {}] of refused) {
      await writeSafetensors(path, entries, { metadata, force: true });
      await assert.rejects(readTokenMap(path), { name: "EngramError", message });
    }
    await writeSafetensors(path, [ids([0, 1, 0])], { force: true });
    assert.equal((await readTokenMap(path)).compressedVocabSize, 2);
  }));
