import assert from "node:assert/strict";
import { parseConfig } from "../../lib/checkpoint/parse_config.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { rejects } from "./rejects.ts";
import { SMALL_CONFIG } from "./small_checkpoint.ts";

/** The released model's config as a hub holds it, and as its own inference code does. */
const RELEASED = {
  layerIds: [1, 14],
  numEmbeddings: [384_006_168, 384_016_682],
  maxNgramSize: 4,
  nHeads: 8,
  headDim: 256,
  vocabSize: 16_000_000,
  compressedVocabSize: 99_092,
  padTokenId: 2,
  deadTokenIds: [129_264, 129_265],
  hiddenSize: 5120,
  hcMult: 4,
  rmsNormEps: 1e-20,
  weightBlockSize: [32, 32],
};
const ENGRAM = {
  engram_layer_ids: [1, 14],
  engram_num_embeddings: [384_006_168, 384_016_682],
  engram_max_ngram_size: 4,
  engram_vocab_size: 16_000_000,
  engram_n_heads: 8,
  engram_head_dim: 256,
  engram_compressed_vocab_size: 99_092,
  hc_mult: 4,
};

Deno.test("a nested config and a flat one in the other spelling say the same", () => {
  const nested = parseConfig({
    image_token_id: 129_264,
    pad_token_id: 1,
    quantization_config: { quant_method: "fp8", weight_block_size: [32, 32] },
    text_config: { ...ENGRAM, engram_pad_token_id: 2, hidden_size: 5120, rms_norm_eps: 1e-20 },
  }, "config.json");
  assert.deepEqual(nested, { where: "config.json", ...RELEASED, quantMethod: "fp8" });
  const flat = parseConfig({
    ...ENGRAM,
    engram_pad_id: 2,
    dim: 5120,
    norm_eps: 1e-20,
    image_token_id: [129_264, 129_265],
  }, "inference/config.json");
  assert.deepEqual(flat, { where: "inference/config.json", ...RELEASED });
});

Deno.test("the golden checkpoint's config", () => {
  const config = parseConfig(goldenJson("mini/config.json"), "mini");
  assert.deepEqual(config.layerIds, [1, 14]);
  assert.deepEqual(config.numEmbeddings, [3698, 6938]);
  assert.equal(config.compressedVocabSize, 98_627);
  assert.deepEqual(config.deadTokenIds, []);
});

Deno.test("dead tokens: none, one, several, nested or above", () => {
  const dead = (more: object) => parseConfig({ ...SMALL_CONFIG, ...more }, "c").deadTokenIds;
  assert.deepEqual(dead({}), []);
  assert.deepEqual(dead({ image_token_id: null }), []);
  assert.deepEqual(dead({ image_token_id: 7 }), [7]);
  assert.deepEqual(dead({ image_token_ids: [9, 7, 9] }), [7, 9]);
  assert.deepEqual(
    parseConfig({ image_token_id: 5, text_config: SMALL_CONFIG }, "c").deadTokenIds,
    [5],
  );
});

Deno.test("what a layout needs not is missed only when it is asked for", async () => {
  const { hidden_size: _h, rms_norm_eps: _e, engram_pad_token_id: _p, ...rest } = SMALL_CONFIG;
  const config = parseConfig(rest, "c");
  assert.equal(config.hcMult, 2);
  await rejects(() => config.hiddenSize, "malformed", "no hidden_size (or dim)");
  await rejects(() => config.rmsNormEps, "malformed", "no rms_norm_eps (or norm_eps)");
  await rejects(() => config.padTokenId, "malformed", "no engram_pad_token_id");
});

Deno.test("the general padding token stands in where none is named for Engram", () => {
  const { engram_pad_token_id: _, ...rest } = SMALL_CONFIG;
  assert.equal(parseConfig({ pad_token_id: 3, text_config: rest }, "c").padTokenId, 3);
  assert.equal(parseConfig({ pad_token_id: 3, text_config: SMALL_CONFIG }, "c").padTokenId, 2);
});

Deno.test("a config without Engram layers says so", async () => {
  await rejects(() => parseConfig({ hidden_size: 1 }, "c"), "malformed", "no Engram layers");
  await rejects(
    () => parseConfig({ ...SMALL_CONFIG, engram_layer_ids: [] }, "c"),
    "malformed",
    "engram_layer_ids is empty",
    "no Engram layers",
  );
});

Deno.test("each bad value is refused with its key, what it is and what was wanted", async () => {
  const cases: [Record<string, unknown>, ...string[]][] = [
    [{ engram_layer_ids: 1 }, "engram_layer_ids is 1", "a list"],
    [{ engram_layer_ids: [1, -3] }, "engram_layer_ids[1] is -3"],
    [{ engram_layer_ids: [1, 1] }, "names layer 1 twice"],
    [{ engram_layer_ids: [1, 2 ** 31] }, "engram_layer_ids[1] is 2147483648"],
    [{ engram_layer_ids: Array.from({ length: 5000 }, (_, i) => i) }, "at most 4096"],
    [{ engram_num_embeddings: [36] }, "has 1 counts, wanted 2"],
    [{ engram_num_embeddings: [36, 0] }, "engram_num_embeddings[1] is 0"],
    [{ engram_num_embeddings: [36, 2 ** 31] }, "engram_num_embeddings[1] is 2147483648"],
    [{ engram_num_embeddings: [36, 2 ** 53] }, "engram_num_embeddings[1] is 9007199254740992"],
    [{ engram_max_ngram_size: 1 }, "engram_max_ngram_size is 1", "from 2 to 64"],
    [{ engram_max_ngram_size: 65 }, "engram_max_ngram_size is 65"],
    [{ engram_n_heads: 0 }, "engram_n_heads is 0"],
    [JSON.parse('{"engram_n_heads":1e999}'), "engram_n_heads is Infinity"],
    [{ engram_n_heads: 2.5 }, "engram_n_heads is 2.5"],
    [{ engram_head_dim: "256" }, 'engram_head_dim is "256"'],
    [{ engram_head_dim: 2 ** 32 }, "engram_head_dim is 4294967296"],
    [{ engram_vocab_size: 2 ** 31 }, "engram_vocab_size is 2147483648"],
    [{ engram_vocab_size: {} }, "engram_vocab_size is an object"],
    [{ engram_compressed_vocab_size: 2 ** 31 }, "engram_compressed_vocab_size is 2147483648"],
    [{ engram_pad_token_id: -1 }, "engram_pad_token_id is -1"],
    [
      { engram_pad_token_id: 2, engram_pad_id: 3 },
      "engram_pad_token_id is 2",
      "engram_pad_id is 3",
    ],
    [{ hidden_size: 0 }, "hidden_size is 0"],
    [{ rms_norm_eps: -1 }, "rms_norm_eps is -1"],
    [{ image_token_id: "x" }, 'image_token_id is "x"'],
    [{ quantization_config: { weight_block_size: [32] } }, "quantization_config.weight_block_size"],
    [{ quantization_config: 5 }, "quantization_config is 5"],
  ];
  for (const [bad, ...parts] of cases) {
    await rejects(() => parseConfig({ ...SMALL_CONFIG, ...bad }, "c.json"), "malformed", ...parts);
  }
  for (const field of ["engram_max_ngram_size", "engram_n_heads", "engram_vocab_size"]) {
    const { [field]: _, ...rest } = SMALL_CONFIG as Record<string, unknown>;
    await rejects(() => parseConfig(rest, "c"), "malformed", `no ${field}`);
  }
  for (const json of [null, 5, "x", [], [SMALL_CONFIG]]) {
    await rejects(() => parseConfig(json, "c"), "malformed", "wanted an object");
  }
});

Deno.test("limits are inclusive", () => {
  const config = parseConfig({
    ...SMALL_CONFIG,
    engram_layer_ids: [0, 2 ** 31 - 1],
    engram_num_embeddings: [1, 2 ** 31 - 1],
    engram_max_ngram_size: 64,
    engram_vocab_size: 2 ** 31 - 1,
    engram_compressed_vocab_size: 2 ** 31 - 1,
    engram_pad_token_id: 2 ** 31 - 1,
    rms_norm_eps: 0,
  }, "c");
  assert.equal(config.layerIds[1], 2_147_483_647);
  assert.equal(config.rmsNormEps, 0);
});

Deno.test("values nested past all reason are refused, not followed", async () => {
  const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  await rejects(
    () => parseConfig({ ...SMALL_CONFIG, engram_layer_ids: deep }, "c"),
    "malformed",
    "engram_layer_ids",
  );
});
