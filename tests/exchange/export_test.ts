import assert from "node:assert/strict";
import { join } from "node:path";
import { gguf } from "@huggingface/gguf";
import { ggufFile } from "../../lib/exchange/gguf_writer.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MODEL = new SyntheticModel({
  layerIds: [4, 1],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 32,
  vocabSize: 40,
  hidden: 8,
  copies: 2,
  eps: 1e-20,
  deadTokenIds: [3, 5],
});

interface Summary {
  readonly tokenizers: Record<string, { readonly sha256_int32_le: string }>;
}

async function exported(format: string, test: (path: string, folder: string) => Promise<void>) {
  await inFolder(async (folder) => {
    MODEL.write(join(folder, "model"));
    const out = join(folder, `constants.${format}`);
    const { code, err } = await cli(
      "export",
      join(folder, "model"),
      ...["--format", format, "--out", out],
    );
    assert.equal(code, 0, err);
    await test(out, folder);
  });
}

const { layout } = MODEL;
const PRIMES = layout.layers.flatMap(({ primes }) => primes.flat());
const OFFSETS = layout.layers.flatMap(({ primes }) => {
  let start = 0;
  return primes.flat().map((prime) => (start += prime) - prime);
});
const MULTIPLIERS = layout.layers.flatMap(({ multipliers }) => [...multipliers]);
const SHA256 = goldenJson<Record<string, { sha256_int32_le: string }>>("tokenizers/maps.json")
  .small_bytelevel.sha256_int32_le;

Deno.test("GGUF constants are read by Hugging Face's parser, int64 exact", async () => {
  await exported("gguf", async (path) => {
    const { metadata, tensorInfos } = await gguf(path, { allowLocalFile: true });
    assert.equal(tensorInfos.length, 0);
    const found = Object.fromEntries(
      Object.entries(metadata).map((
        [key, value],
      ) => [key.replace("deepseek41.engram.", ""), value]),
    );
    assert.equal(found["general.architecture"], "deepseek41");
    assert.equal(metadata.version, 3);
    assert.deepEqual(found.layer_ids, [4, 1]);
    assert.equal(found.n_heads, 2);
    assert.equal(found.head_dim, 32);
    assert.equal(found.max_ngram_size, 3);
    assert.deepEqual(
      found.num_embeddings,
      [0, 1].map((l) => BigInt(PRIMES.slice(4 * l, 4 * l + 4).reduce((a, b) => a + b))),
    );
    assert.equal(found.pad_token_id, MODEL.padTokenId);
    assert.equal(found.compressed_pad_id, MODEL.map[MODEL.padTokenId]);
    assert.equal(found.compressed_vocab_size, layout.compressedVocabSize);
    assert.deepEqual(found.dead_token_ids, [3, 5]);
    assert.deepEqual(found.primes, PRIMES.map(BigInt));
    assert.deepEqual(found.offsets, OFFSETS.map(BigInt));
    assert.deepEqual(found.multipliers, MULTIPLIERS);
    assert.deepEqual(found.token_map, MODEL.map);
    assert.equal(found.token_map_sha256, SHA256);
    assert.equal(found.encoding, "e4m3_e8m0_32");
    assert.equal(found.rms_norm_eps, Math.fround(1e-20));
  });
});

Deno.test("JSON constants keep multipliers as decimal strings", async () => {
  await exported("json", async (path) => {
    const found = JSON.parse(await Deno.readTextFile(path));
    assert.deepEqual(found.multipliers.flat().map(BigInt), MULTIPLIERS);
    assert.deepEqual(found.primes.flat(), PRIMES);
    assert.deepEqual(found.offsets.flat(), OFFSETS);
    assert.deepEqual(found.token_map, MODEL.map);
    assert.equal(found.token_map_sha256, SHA256);
    assert.equal(found.hidden_size, 8);
    assert.equal(found.hc_mult, 2);
    assert.equal(found.rms_norm_eps, 1e-20);
    assert.equal(found.vocab_size, 40);
  });
});

Deno.test("safetensors constants hold the same, and serve as a map", async () => {
  await exported("safetensors", async (path, folder) => {
    const file = new TensorFile(path);
    assert.deepEqual([...file.get("multipliers", "I64").values], MULTIPLIERS);
    assert.deepEqual(file.get("multipliers", "I64").shape, [2, 3]);
    assert.deepEqual([...file.get("primes", "I64").values].map(Number), PRIMES);
    assert.deepEqual([...file.get("offsets", "I64").values].map(Number), OFFSETS);
    assert.deepEqual([...file.get("token_map", "I32").values], MODEL.map);
    const again = await cli("layout", join(folder, "model"), "--map", path, "--json");
    assert.equal(again.code, 0, again.err);
    assert.equal(again.json().compressed_vocab_size, layout.compressedVocabSize);
  });
});

Deno.test("the released constants are the golden ones", async () => {
  await inFolder(async (folder) => {
    const released = goldenJson<{ primes: number[][][]; offsets: number[][] }>("released.json");
    const [config, out] = [join(folder, "config.json"), join(folder, "out.json")];
    Deno.writeTextFileSync(
      config,
      JSON.stringify({
        engram_layer_ids: [1, 14],
        engram_max_ngram_size: 4,
        engram_n_heads: 8,
        engram_head_dim: 256,
        engram_vocab_size: 16_000_000,
        engram_pad_token_id: 2,
        hidden_size: 5120,
        hc_mult: 4,
        rms_norm_eps: 1e-20,
      }),
    );
    const tokenizer = await realTokenizer("deepseek_v3");
    const { code, err } = await cli(
      "export",
      config,
      ...["--tokenizer", tokenizer, "--format", "json", "--out", out],
    );
    assert.equal(code, 0, err);
    const found = JSON.parse(Deno.readTextFileSync(out));
    assert.deepEqual(found.primes, released.primes.map((layer) => layer.flat()));
    assert.deepEqual(found.offsets, released.offsets);
    assert.deepEqual(
      found.num_embeddings,
      [384006168, 384016682],
    );
    assert.equal(
      found.token_map_sha256,
      goldenJson<Summary>("summary.json").tokenizers.deepseek_v3.sha256_int32_le,
    );
  });
});

Deno.test("no tokenizer, a file that exists and a map of another size are refused", async () => {
  await exported("json", async (path, folder) => {
    const model = join(folder, "model");
    const there = await cli("export", model, "--format", "json", "--out", path);
    assert.equal(there.code, 4);
    assert.match(there.err, /exists already[^]*--force/);
    Deno.removeSync(join(model, "tokenizer.json"));
    const none = await cli("export", model, "--format", "json", "--out", `${path}2`);
    assert.equal(none.code, 4);
    assert.match(none.err, /no tokenizer.json beside it[^]*--tokenizer/);
    const other = await cli(
      "export",
      model,
      ...["--tokenizer", await realTokenizer("deepseek_v3")],
      ...["--format", "json", "--out", `${path}2`],
    );
    assert.equal(other.code, 5);
    assert.match(other.err, /engram_compressed_vocab_size/);
  });
});

Deno.test("int64 values keep all their bits, as single values and in arrays", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "x.gguf");
    const most = 2n ** 63n - 1n;
    Deno.writeFileSync(
      path,
      ggufFile({
        one: { type: "int64", value: most },
        many: { type: "int64", value: [-most - 1n, 2n ** 53n + 1n] },
        negative: { type: "int32", value: [-1, 7] },
        text: { type: "string", value: "größer 四" },
        long: { type: "string", value: "x".repeat(20_000) },
      }),
    );
    const { metadata } = await gguf(path, { allowLocalFile: true });
    const { one, many, negative, text, long } = metadata as unknown as Record<string, unknown>;
    assert.equal(one, most);
    assert.deepEqual(many, [-most - 1n, 2n ** 53n + 1n]);
    assert.deepEqual(negative, [-1, 7]);
    assert.equal(text, "größer 四");
    assert.equal(long, "x".repeat(20_000));
  });
});
