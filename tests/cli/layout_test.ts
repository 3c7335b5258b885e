import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { SMALL_CONFIG, writeCheckpoint } from "../checkpoint/small_checkpoint.ts";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

interface Rank {
  rank: number;
  columns: number[];
  row_start: number;
  row_end: number;
  bytes: number;
}

Deno.test("layout --json of the released sizes is the golden layout", async () => {
  const golden = goldenJson<{ primes: number[][][]; offsets: number[][]; multipliers: string[][] }>(
    "released.json",
  );
  await inFolder(async (folder) => {
    const config = join(folder, "config.json");
    const text_config = {
      engram_layer_ids: [1, 14],
      engram_num_embeddings: [384_006_168, 384_016_682],
      engram_max_ngram_size: 4,
      engram_vocab_size: 16_000_000,
      engram_n_heads: 8,
      engram_head_dim: 256,
      engram_compressed_vocab_size: 99_092,
    };
    Deno.writeTextFileSync(config, JSON.stringify({ text_config }));
    const { code, json, err } = await cli("layout", config, "--tp", "4", "--json");
    assert.equal(code, 0, err);
    const { layers } = json();
    assert.deepEqual(layers.map((l: { layer_id: number }) => l.layer_id), [1, 14]);
    assert.deepEqual(layers.map((l: { rows: number }) => l.rows), [384_006_168, 384_016_682]);
    assert.deepEqual(layers.map((l: { primes: number[][] }) => l.primes), golden.primes);
    assert.deepEqual(layers.map((l: { offsets: number[] }) => l.offsets), golden.offsets);
    assert.deepEqual(
      layers.map((l: { multipliers: string[] }) => l.multipliers),
      golden.multipliers,
    );
    const ranks: Rank[] = layers[1].ranks;
    assert.deepEqual(ranks.map(({ rank }) => rank), [0, 1, 2, 3]);
    assert.deepEqual(ranks[1].columns, [6, 7, 8, 9, 10, 11]);
    assert.equal(ranks[1].row_start, golden.offsets[1][6]);
    assert.equal(ranks[1].row_end, golden.offsets[1][12]);
    assert.equal(ranks[3].row_end, 384_016_682);
    assert.equal(ranks.reduce((sum, { bytes }) => sum + bytes, 0), 384_016_682 * 264);
  });
});

Deno.test("layout splits by heads dealt round, by rows, over more ranks than columns", async () => {
  await inFolder(async (folder) => {
    writeCheckpoint(folder, {});
    const ranks = async (...args: string[]): Promise<Rank[]> =>
      (await cli("layout", folder, "--json", ...args)).json().layers[0].ranks;
    // The first layer's buckets: 5 7 11 13.
    assert.deepEqual((await ranks()).map(({ columns }) => columns), [[0, 1, 2, 3]]);
    const strided = await ranks("--tp", "2", "--split", "strided");
    assert.deepEqual(strided.map(({ columns }) => columns), [[0, 2], [1, 3]]);
    assert.deepEqual(strided.map(({ bytes }) => bytes), [16 * 33, 20 * 33]);
    const rows = await ranks("--tp", "5", "--split", "rows");
    assert.deepEqual(rows.map((r) => [r.row_start, r.row_end]), [
      [0, 8],
      [8, 16],
      [16, 24],
      [24, 32],
      [32, 36],
    ]);
    const many = await ranks("--tp", "3", "--dp", "2");
    assert.deepEqual(many.map(({ columns }) => columns), [[0], [1], [2], [3], [], []]);
    assert.deepEqual(many.map(({ bytes }) => bytes), [5, 7, 11, 13, 0, 0].map((n) => n * 33));
  });
});

Deno.test("layout as text", async () => {
  const { code, out } = await cli("layout", goldenPath("mini"), "--tp", "4");
  assert.equal(code, 0);
  assert.match(out, /layer 1: 3,698 rows of 66 bytes \(fp8\)/);
  assert.match(out, /76993395940407/);
  assert.match(out, /^ +1 +6-11 +630 +1,464 +834/m);
});

Deno.test("layout takes the compressed size from a tokenizer where the config has none", async () => {
  const { engram_compressed_vocab_size: _, ...config } = SMALL_CONFIG;
  const small = goldenPath("tokenizers/small_llama.json");
  await inFolder(async (folder) => {
    writeCheckpoint(folder, { config });
    const without = await cli("layout", folder);
    assert.equal(without.code, 3);
    assert.match(without.err, /no engram_compressed_vocab_size/);
    assert.match(without.err, /--tokenizer/);
    const given = await cli("layout", folder, "--json", "--tokenizer", small);
    const maps = goldenJson<Record<string, { compressed_vocab_size: number }>>(
      "tokenizers/maps.json",
    );
    assert.equal(given.json().compressed_vocab_size, maps.small_llama.compressed_vocab_size);
  });
  const other = await cli("layout", goldenPath("mini"), "--tokenizer", small);
  assert.equal(other.code, 5);
  assert.match(other.err, /98627/);
});

Deno.test("layout refuses a config whose tables are shorter than its primes need", async () => {
  await inFolder(async (folder) => {
    const short = { ...SMALL_CONFIG, engram_num_embeddings: [36, 87] };
    const { code, err } = await cli("layout", writeCheckpoint(folder, { config: short }));
    assert.equal(code, 5);
    assert.match(err, /engram_num_embeddings of layer 3 is 87, but its 4 primes sum to 88/);
    const long = { ...SMALL_CONFIG, engram_num_embeddings: [36, 90] };
    const padded = await cli("layout", writeCheckpoint(folder, { config: long }));
    assert.equal(padded.code, 0);
    assert.match(padded.err, /the rest would be padding/);
  });
});

Deno.test("layout refuses bad ranks", async () => {
  for (const args of [["--tp", "0"], ["--dp", "x"], ["--split", "no"], ["--tp", "4294967296"]]) {
    assert.equal((await cli("layout", goldenPath("mini"), ...args)).code, 2, args.join(" "));
  }
});
