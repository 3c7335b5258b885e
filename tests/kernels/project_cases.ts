import type { ProjectionWeights } from "../../lib/engram/kernels.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { assertNearBf16, assertSameBits, bf16Number, randomBf16 } from "./bf16_oracle.ts";
import { projectOracle, slackOf } from "./project_oracle.ts";
import { Random } from "./random.ts";
import type { Cases } from "./suite.ts";

/** The projection of rows to keys and values. */
export const projectCases: Cases = async (kernels, step) => {
  const expected = goldenTensors("mini/expected.safetensors");
  const first = new TensorFile(goldenPath("mini/model-00001-of-00002.safetensors"));
  const second = new TensorFile(goldenPath("mini/model-00002-of-00002.safetensors"));

  for (const layer of [1, 14]) {
    await step(`the golden checkpoint's layer ${layer}`, async () => {
      const codes = first.get(`layers.${layer}.engram.wkv.weight`, "F8_E4M3");
      const scales = second.get(`layers.${layer}.engram.wkv.scale`, "F8_E8M0").values;
      const [outFeatures, inFeatures] = codes.shape;
      const weights = { outFeatures, inFeatures, codes: codes.values, scales, block: BLOCK };
      const rows = bits(expected.get(`layers.${layer}.rows_bf16_bits`, "I32").values);
      const found = await kernels.project(weights, rows, 64);
      const wanted = projectOracle(weights, rows, 64);
      assertNearBf16(found, wanted.sums, "kv", { slack: slackOf(wanted.sizes) });
      const kv = expected.get(`layers.${layer}.kv`, "BF16").values;
      assertNearBf16(found, Array.from(kv, bf16Number), "golden kv", {
        slack: slackOf(wanted.sizes),
      });
    });
  }

  // Sizes off every tile and vector width, several tiles, one tile; slices of the inputs in several
  // pieces; other blocks; either side of where another kernel takes over.
  const sizes: [out: number, into: number, tokens: number, block: readonly [number, number]][] = [
    [1, 1, 1, BLOCK],
    [33, 65, 3, BLOCK],
    [96, 64, 1, BLOCK],
    [257, 96, 17, BLOCK],
    [160, 513, 16, BLOCK],
    [64, 32, 129, BLOCK],
    [130, 260, 5, [128, 128]],
    [20, 40, 4, [16, 8]],
    [21, 70, 2, [3, 16]],
    [200, 300, 8, BLOCK],
    [10, 4400, 16, BLOCK],
    [65, 140, 35, [128, 128]],
    [66, 48, 112, BLOCK],
    [66, 48, 113, BLOCK],
  ];
  for (const [outFeatures, inFeatures, tokens, block] of sizes) {
    const name = `${tokens} tokens, ${outFeatures} × ${inFeatures}, blocks of ${block.join(" × ")}`;
    await step(`fp8, ${name}`, async () => {
      const random = new Random(outFeatures * 7 + inFeatures);
      const weights = randomWeights(random, outFeatures, inFeatures, block);
      const rows = randomBf16(random, tokens * inFeatures, 0.5);
      const found = await kernels.project(weights, rows, tokens);
      const wanted = projectOracle(weights, rows, tokens);
      assertNearBf16(found, wanted.sums, "kv", { slack: slackOf(wanted.sizes) });
    });
    await step(`bf16, ${name}`, async () => {
      const random = new Random(outFeatures * 5 + inFeatures);
      const codes = randomBf16(random, outFeatures * inFeatures, 0.1);
      const weights: ProjectionWeights = { outFeatures, inFeatures, codes, block };
      const rows = randomBf16(random, tokens * inFeatures);
      const found = await kernels.project(weights, rows, tokens);
      const wanted = projectOracle(weights, rows, tokens);
      assertNearBf16(found, wanted.sums, "kv", { slack: slackOf(wanted.sizes) });
    });
  }

  await step("zero rows give zeros; zero tokens give nothing; many tokens repeat few", async () => {
    const random = new Random(3);
    const weights = randomWeights(random, 40, 32, BLOCK);
    const zeros = await kernels.project(weights, new Uint16Array(2 * 32), 2);
    assertNearBf16(zeros, new Float64Array(80), "zeros", { equalPercent: 100 });
    assertSameBits(await kernels.project(weights, new Uint16Array(0), 0), [], "nothing");
    const tokens = 70_001; // past 65,535 workgroups of one token
    const one = randomBf16(random, 32);
    const rows = new Uint16Array(tokens * 32);
    for (let t = 0; t < tokens; t++) rows.set(one, t * 32);
    const found = await kernels.project(weights, rows, tokens);
    const wanted = projectOracle(weights, one, 1);
    for (const t of [0, 1, 31, 32_767, 65_534, 65_535, 65_536, tokens - 1]) {
      assertNearBf16(found.subarray(t * 40, (t + 1) * 40), wanted.sums, `token ${t}`, {
        slack: slackOf(wanted.sizes),
        equalPercent: 95,
      });
    }
  });
};

const BLOCK = [32, 32] as const;

/** Finite codes and scales of a trained weight's size, some far from the others. */
function randomWeights(
  random: Random,
  outFeatures: number,
  inFeatures: number,
  block: readonly [number, number],
): ProjectionWeights {
  const tiles = Math.ceil(outFeatures / block[0]) * Math.ceil(inFeatures / block[1]);
  const codes = random.bytes(outFeatures * inFeatures).map((code) =>
    (code & 0x7f) === 0x7f ? code & 0x80 : code
  );
  const scales = Uint8Array.from({ length: tiles }, () => 112 + random.below(20));
  return { outFeatures, inFeatures, codes, scales, block };
}

function bits(values: Int32Array): Uint16Array {
  return Uint16Array.from(values);
}
