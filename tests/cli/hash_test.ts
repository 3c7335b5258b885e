import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MINI = goldenPath("mini");
const golden = goldenTensors("mini/expected.safetensors");
const TEXT = golden.metadata.text;
const IDS = goldenPath("mini/expected.safetensors");
const TOKENIZER = await realTokenizer("deepseek_v3");

/** Options that give the map saved, and the tokenizer where texts are read: building it takes a second. */
const MAP = join(await Deno.makeTempDir(), "map.safetensors");
await cli("map", TOKENIZER, "--out", MAP);
const BY_MAP = ["--map", MAP];
const BY_BOTH = [...BY_MAP, "--tokenizer", TOKENIZER];
globalThis.addEventListener("unload", () => Deno.removeSync(dirname(MAP), { recursive: true }));

const wantedIds = golden.get("token_ids", "I32").values;
const wantedRows = golden.get("hash_ids", "I32").values;
/** The digest of the whole deepseek_v3 map, from the golden summary. */
const MAP_SHA256 = "cd48cb62d9cca1baaf08d9e7795ad3d4c22b6c56f0f070178b9e3a52694ea930";

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function refused(
  result: { code: number; out: string; err: string },
  code: number,
  message: RegExp,
) {
  assert.equal(result.code, code, result.err);
  assert.equal(result.out, "");
  assert.match(result.err, message);
  assert.doesNotMatch(result.err, /Internal error|\.ts:\d/);
}

Deno.test("hash --ids with dead flags gives the golden rows, and a file others can read", () =>
  inFolder(async (folder) => {
    const out = join(folder, "hash.safetensors");
    const result = await cli(
      "hash",
      MINI,
      "--ids",
      IDS,
      "--tokenizer",
      TOKENIZER,
      "--out",
      out,
      "--json",
    );
    assert.equal(result.code, 0, result.err);
    const file = new TensorFile(out);
    const rows = file.get("hash_ids", "I32");
    assert.deepEqual(rows.shape, [64, 2, 24]);
    assert.deepEqual(rows.values, wantedRows);
    assert.deepEqual(file.get("token_ids", "I32"), { shape: [64], values: wantedIds });
    assert.deepEqual(file.get("dead", "U8").values, golden.get("dead", "U8").values);
    assert.deepEqual(file.get("starts", "I64").values, BigInt64Array.of(0n, 64n));
    assert.equal(file.metadata.token_map_sha256, MAP_SHA256);
    const summary = result.json();
    assert.equal(summary.tokens, 64);
    assert.equal(summary.requests, 1);
    assert.equal(summary.dead_tokens, 2);
    assert.equal(summary.map.sha256, MAP_SHA256);
    const digest = createHash("sha256").update(new Uint8Array(wantedRows.buffer)).digest("hex");
    assert.equal(summary.hash_ids_sha256, digest);
  }));

Deno.test("hash --text gives the golden token ids, and --dead-token kills every token of that id", () =>
  inFolder(async (folder) => {
    const text = join(folder, "text.txt");
    const [plain, dead] = [join(folder, "plain.safetensors"), join(folder, "dead.safetensors")];
    await Deno.writeTextFile(text, TEXT);
    const common = ["hash", MINI, "--text", text, ...BY_BOTH, "--quiet"];
    assert.equal((await cli(...common, "--out", plain)).code, 0);
    assert.deepEqual(new TensorFile(plain).get("token_ids", "I32").values, wantedIds);

    const killed = [wantedIds[3], wantedIds[30]];
    const flags = killed.flatMap((id) => ["--dead-token", String(id)]);
    assert.equal((await cli(...common, ...flags, "--out", dead)).code, 0);
    const found = new TensorFile(dead).get("dead", "U8").values;
    assert.deepEqual(found, Uint8Array.from(wantedIds, (id) => (killed.includes(id) ? 1 : 0)));
    assert.notDeepEqual(
      new TensorFile(dead).get("hash_ids", "I32").values,
      new TensorFile(plain).get("hash_ids", "I32").values,
    );
  }));

Deno.test("each text is a request of its own; a folder's files come in the order of their paths", () =>
  inFolder(async (folder) => {
    const corpus = join(folder, "corpus");
    await Deno.mkdir(join(corpus, "b"), { recursive: true });
    await Deno.writeTextFile(join(corpus, "c.txt"), "The lazy dog");
    await Deno.writeTextFile(join(corpus, "b", "one.txt"), "");
    await Deno.writeTextFile(join(corpus, "a.txt"), TEXT);
    await Deno.writeTextFile(join(corpus, ".hidden"), "not this one");
    const last = join(folder, "last.txt");
    await Deno.writeTextFile(last, "The lazy dog");
    const out = join(folder, "all.safetensors");
    const common = [...BY_BOTH, "--json"];
    const all = await cli("hash", MINI, "--text", corpus, last, "--out", out, ...common);
    assert.equal(all.code, 0, all.err);
    assert.equal(all.json().requests, 4);
    const starts = Array.from(new TensorFile(out).get("starts", "I64").values, Number);
    const [first, empty, dog, again, end] = starts;
    assert.deepEqual([first, empty, dog], [0, 64, 64]);
    const rows = new TensorFile(out).get("hash_ids", "I32").values;
    // The same text twice, in different places: the same rows.
    assert.ok(again > dog && end > again);
    assert.deepEqual(rows.slice(dog * 48, again * 48), rows.slice(again * 48, end * 48));
    const alone = join(folder, "alone.safetensors");
    await cli("hash", MINI, "--text", join(corpus, "a.txt"), "--out", alone, ...common);
    assert.deepEqual(new TensorFile(alone).get("hash_ids", "I32").values, rows.slice(0, 64 * 48));
  }));

Deno.test("hash without --out prints what it found; JSON lines say the same as safetensors", () =>
  inFolder(async (folder) => {
    const common = ["hash", MINI, "--ids", IDS, "--tokenizer", TOKENIZER];
    const shown = await cli(...common);
    assert.equal(shown.code, 0);
    assert.match(shown.out, /64 tokens in 1 request, 2 dead, to 2 layers × 24 columns/);
    assert.match(shown.out, new RegExp(MAP_SHA256));
    assert.match(shown.out, /671 +"The" +237 /);

    const out = join(folder, "rows.jsonl");
    assert.equal((await cli(...common, "--out", out)).code, 0);
    const lines = (await Deno.readTextFile(out)).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.equal(lines.length, 64);
    assert.deepEqual(lines.flatMap((line) => line.hash_ids.flat()), Array.from(wantedRows));
    assert.deepEqual(lines.map((line) => line.token_id), Array.from(wantedIds));
    assert.deepEqual(lines[63].position, 63);
    assert.deepEqual(lines.map((line) => line.dead).indexOf(true), 9);
  }));

Deno.test("a .npy output holds the hash ids", () =>
  inFolder(async (folder) => {
    const out = join(folder, "rows.npy");
    const result = await cli("hash", MINI, "--ids", IDS, ...BY_MAP, "--out", out);
    assert.equal(result.code, 0, result.err);
    const bytes = await Deno.readFile(out);
    const end = 10 + new DataView(bytes.buffer).getUint16(8, true);
    const header = new TextDecoder("latin1").decode(bytes.subarray(0, end));
    assert.match(header, /'descr': '<i4', 'fortran_order': False, 'shape': \(64, 2, 24\)/);
    assert.deepEqual(new Int32Array(bytes.slice(end).buffer), wantedRows);
  }));

Deno.test("a saved map serves in place of the tokenizer", async () => {
  const result = await cli("hash", MINI, "--ids", IDS, ...BY_MAP, "--json");
  assert.equal(result.code, 0, result.err);
  const digest = createHash("sha256").update(new Uint8Array(wantedRows.buffer)).digest("hex");
  assert.equal(result.json().hash_ids_sha256, digest);
});

Deno.test("a config alone is enough to hash by", async () => {
  const config = join(MINI, "config.json");
  const result = await cli("hash", config, "--ids", IDS, ...BY_MAP, "--json");
  assert.equal(result.code, 0, result.err);
  assert.equal(result.json().tokens, 64);
});

Deno.test("the padding token counts by its compressed id", () =>
  inFolder(async (folder) => {
    const config = JSON.parse(await Deno.readTextFile(join(MINI, "config.json")));
    const text = join(folder, "text.txt");
    await Deno.writeTextFile(text, TEXT);
    const digests: string[] = [];
    // "The" and " the" have one compressed id; "<｜end▁of▁sentence｜>" has another.
    for (const pad of [671, 270, 1]) {
      config.text_config.engram_pad_token_id = pad;
      const path = join(folder, "config.json");
      await Deno.writeTextFile(path, JSON.stringify(config));
      const result = await cli("hash", path, "--text", text, ...BY_BOTH, "--json");
      assert.equal(result.code, 0, result.err);
      digests.push(result.json().hash_ids_sha256);
    }
    assert.equal(digests[0], digests[1]);
    assert.notEqual(digests[0], digests[2]);
  }));

Deno.test("no tokens give an empty result", () =>
  inFolder(async (folder) => {
    const [text, out] = [join(folder, "empty.txt"), join(folder, "empty.safetensors")];
    await Deno.writeTextFile(text, "");
    const common = ["hash", MINI, ...BY_BOTH, "--json"];
    const result = await cli(...common, "--text", text, "--out", out);
    assert.equal(result.code, 0, result.err);
    assert.equal(result.json().tokens, 0);
    assert.equal(result.json().requests, 1);
    assert.deepEqual(new TensorFile(out).get("hash_ids", "I32").shape, [0, 2, 24]);
    assert.deepEqual(new TensorFile(out).get("starts", "I64").values, BigInt64Array.of(0n, 0n));
  }));

Deno.test("token ids that are not on the map are refused with their position", () =>
  inFolder(async (folder) => {
    for (
      const [ids, message] of [
        [[5, 6, 128_815], /token id 128815 at position 2 is not on the token map, .*below 128815/],
        [[5, -1, 6], /-1/],
        [[5, 1.5, 6], /1\.5/],
        [[5, 2 ** 31], /2147483648/],
      ] as const
    ) {
      const file = join(folder, "ids.json");
      await Deno.writeTextFile(file, JSON.stringify(ids));
      const out = join(folder, "out.safetensors");
      const common = ["hash", MINI, "--ids", file, ...BY_MAP];
      refused(await cli(...common), 3, message);
      refused(await cli(...common, "--out", out), 3, message);
      assert.deepEqual([...Deno.readDirSync(folder)].map((entry) => entry.name), ["ids.json"]);
    }
  }));

Deno.test("a tokenizer whose map has another size than the config says is refused with both", async () => {
  const other = goldenPath("tokenizers/small_bytelevel.json");
  const result = await cli("hash", MINI, "--text", other, "--tokenizer", other);
  refused(result, 5, /the token map has \d+ keys, wanted 98627/);
});

Deno.test("what the command cannot do is refused at once, with a hint", () =>
  inFolder(async (folder) => {
    const text = join(folder, "text.txt");
    await Deno.writeTextFile(text, "x");
    const given = BY_MAP;
    refused(await cli("hash", MINI, ...given), 2, /neither --text nor --ids/);
    refused(
      await cli("hash", MINI, ...given, "--ids", IDS, "--text", text),
      2,
      /both --text and --ids/,
    );
    refused(
      await cli("hash", MINI, "--ids", IDS),
      4,
      /Cannot find a tokenizer: .*--tokenizer PATH/s,
    );
    refused(
      await cli("hash", MINI, ...given, "--text", join(folder, "none.txt")),
      4,
      /no such file/,
    );
    refused(await cli("hash", MINI, ...given, "--text", "-", "-"), 2, /standard input twice/);
    refused(await cli("hash", MINI, ...given, "--ids", IDS, "--out", "x.csv"), 2, /wanted one of/);
    refused(
      await cli("hash", MINI, ...given, "--ids", IDS, "--dead-token", "-1"),
      2,
      /--dead-token/,
    );
    refused(
      await cli("hash", MINI, ...BY_BOTH, "--ids", IDS),
      2,
      /both --tokenizer and --map/,
    );
    refused(await cli("hash", MINI, ...given, "--text", text), 4, /Cannot find a tokenizer/);
    refused(await cli("hash", MINI, ...given, "--ids", IDS, "--part", "4/4"), 2, /from 0 to N - 1/);
    refused(
      await cli("hash", MINI, ...given, "--text", "-", "--part", "0/4"),
      2,
      /Cannot take a part of standard input/,
    );
    const there = join(folder, "there.safetensors");
    await Deno.writeTextFile(there, "");
    const again = await cli("hash", MINI, ...given, "--ids", IDS, "--out", there);
    refused(again, 4, /exists already.*--force/s);
    assert.equal(
      (await cli("hash", MINI, ...given, "--ids", IDS, "--out", there, "--force")).code,
      0,
    );
    const empty = join(folder, "folder");
    await Deno.mkdir(empty);
    refused(await cli("hash", MINI, ...given, "--text", empty), 4, /holds no files/);
  }));

Deno.test("a text that is not UTF-8 is refused with the file and the offset", () =>
  inFolder(async (folder) => {
    const text = join(folder, "latin1.txt");
    await Deno.writeFile(text, Uint8Array.of(0x63, 0x61, 0x66, 0xe9));
    const result = await cli("hash", MINI, "--text", text, ...BY_BOTH);
    refused(result, 3, /latin1\.txt.*offset 3/);
  }));

Deno.test("hash puts the tokenizer's special tokens around every text, unless told not to", () =>
  inFolder(async (folder) => {
    const json = JSON.parse(await Deno.readTextFile(TOKENIZER));
    json.post_processor = { type: "BertProcessing", cls: ["a", 11], sep: ["b", 12] };
    const tokenizer = join(folder, "tokenizer.json");
    await Deno.writeTextFile(tokenizer, JSON.stringify(json));
    const texts = ["one", "two"].map((name) => join(folder, `${name}.txt`));
    for (const text of texts) await Deno.writeTextFile(text, TEXT);
    const out = join(folder, "hash.safetensors");
    const hashed = async (...more: string[]) => {
      const given = [...BY_MAP, "--tokenizer", tokenizer, "--out", out, "--force"];
      const result = await cli("hash", MINI, "--text", ...texts, ...given, ...more);
      assert.equal(result.code, 0, result.err);
      return Array.from(new TensorFile(out).get("token_ids", "I32").values as Int32Array);
    };
    const plain = await hashed("--no-special-tokens");
    const half = plain.slice(0, plain.length / 2);
    assert.deepEqual(plain, [...half, ...half]);
    assert.deepEqual(await hashed(), [11, ...half, 12, 11, ...half, 12]);
  }));
