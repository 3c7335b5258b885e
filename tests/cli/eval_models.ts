import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { seededHidden } from "../engram/seeded_hidden_oracle.ts";
import { type ModelSizes, SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { assertNearBf16, assertSameBits } from "../kernels/bf16_oracle.ts";
import { assertGates } from "../kernels/gate_oracle.ts";
import { slackOf } from "../kernels/project_oracle.ts";
import { cli } from "../run_cli.ts";

export const TEXT =
  "The quick brown fox jumps over the lazy dog.\nNaïve ΟΔΥΣΣΕΥΣ, 四大 don't stop.";

export const SIZES: ModelSizes = {
  layerIds: [2, 5],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 32,
  vocabSize: 50,
  hidden: 32,
  copies: 2,
  eps: 1e-20,
};

/** Configurations unlike the released one. */
export const MODELS: Record<string, ModelSizes> = {
  "small and square": SIZES,
  "hidden off every tile, a row of 40 values, 3 copies": {
    ...SIZES,
    hidden: 45,
    headDim: 40,
    copies: 3,
    eps: 1e-6,
  },
  "one layer, one copy, one column": {
    ...SIZES,
    layerIds: [0],
    maxNgramSize: 2,
    nHeads: 1,
    headDim: 48,
    copies: 1,
    hidden: 17,
  },
  "5-grams of 3 heads, 3 layers, padding rows": {
    ...SIZES,
    layerIds: [9, 1, 4],
    maxNgramSize: 5,
    nHeads: 3,
    headDim: 16,
    paddingRows: 13,
  },
  "int8 rows": { ...SIZES, kind: "int8", headDim: 40 },
  "packed rows": { ...SIZES, kind: "packed" },
  "bf16 rows and weights": { ...SIZES, kind: "bf16", wkv: "bf16" },
  "f16 rows": { ...SIZES, kind: "f16" },
  "f32 rows, weights in tiles of 16 × 64": { ...SIZES, kind: "f32", block: [16, 64] },
};

/** Registers a test for each of the models named: `engram eval` of it gives what it must. */
export function evalModels(
  device: "cpu" | "gpu",
  names: readonly string[],
  { ignore = false, flags = [] }: { ignore?: boolean; flags?: readonly string[] } = {},
): void {
  const place = [device, ...flags].join(" ");
  for (const name of names) {
    Deno.test({
      name: `eval on the ${place} is the module of a model with ${name}`,
      ignore,
      fn: () => evalModel(MODELS[name], device, flags),
    });
  }
}

async function evalModel(
  sizes: ModelSizes,
  device: string,
  flags: readonly string[],
): Promise<void> {
  await inFolder(async (folder) => {
    const model = new SyntheticModel(sizes);
    model.write(folder);
    const [text, out] = [join(folder, "text.txt"), join(folder, "out.safetensors")];
    Deno.writeTextFileSync(text, TEXT);
    const dead = ["--dead-token", String(await deadToken())];
    const args = ["eval", folder, "--text", text, "--seed", "11", ...dead, "--device", device];
    const { code, err } = await cli(...args, ...flags, "--keep", "rows,kv,hidden", "--out", out);
    assert.equal(code, 0, err);
    checkModule(model, new TensorFile(out));
  });
}

/** Every tensor of an output against the oracles, each from the one before. */
function checkModule(model: SyntheticModel, file: TensorFile): void {
  const { copies, hidden } = model.sizes;
  const tokenIds = file.get("token_ids", "I32").values;
  const dead = file.get("dead", "U8").values;
  const tokens = tokenIds.length;
  assert.ok(tokens > 20 && dead.includes(1) && dead.includes(0));
  assert.deepEqual([...file.get("starts", "I64").values], [0n, BigInt(tokens)]);
  const ids = model.ids(tokenIds, dead);
  model.layers.forEach(({ id }, layer) => {
    const name = `layers.${id}`;
    const rows = file.get(`${name}.rows`, "BF16");
    assert.deepEqual(rows.shape, [tokens, model.columns, model.sizes.headDim]);
    assertSameBits(rows.values, model.rows(layer, model.layerIds(layer, ids)), `${name}.rows`);
    const kv = file.get(`${name}.kv`, "BF16");
    assert.deepEqual(kv.shape, [tokens, (copies + 1) * hidden]);
    const { sums, sizes } = model.project(layer, rows.values, tokens);
    assertNearBf16(kv.values, sums, `${name}.kv`, { slack: slackOf(sizes) });
    const stream = file.get(`${name}.hidden`, "BF16").values;
    assertSameBits(stream, seededHidden(11, id, 0, tokens * copies * hidden), `${name}.hidden`);
    const mask = dead.map((isDead) => 1 - isDead);
    const wanted = model.gate(layer, { tokens, stream, kv: kv.values, mask });
    const gate = file.get(`${name}.gate`, "F32");
    assert.deepEqual(gate.shape, [tokens, copies]);
    assertGates(gate.values, wanted.gate);
    const output = file.get(`${name}.output`, "BF16");
    assert.deepEqual(output.shape, [tokens, copies, hidden]);
    assertNearBf16(output.values, wanted.output, `${name}.output`, {
      slack: (i) => wanted.sizes[i] * 2e-6,
    });
  });
}

/** A token that the text holds. */
export async function deadToken(): Promise<number> {
  const { loadTokenizer } = await import("../../lib/tokenizer/load_tokenizer.ts");
  const tokenizer = await loadTokenizer(goldenPath("tokenizers/small_bytelevel.json"));
  return (await tokenizer.encode(TEXT))[6];
}
