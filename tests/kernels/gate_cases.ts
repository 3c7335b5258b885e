import assert from "node:assert/strict";
import type { GateInput, GateWeights } from "../../lib/engram/kernels.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { assertNearBf16, assertSameBits, bf16Number, randomBf16 } from "./bf16_oracle.ts";
import { assertGates, gateOracle } from "./gate_oracle.ts";
import { Random } from "./random.ts";
import type { Cases } from "./suite.ts";

/** The gate and the gated stream. */
export const gateCases: Cases = async (kernels, step) => {
  const golden = goldenTensors("rows_and_gates.safetensors");
  for (const name of ["a", "b", "c", "zero", "large"]) {
    await step(`golden case ${name}`, async () => {
      const stream = golden.get(`${name}.hidden`, "BF16");
      const [tokens, copies, hidden] = stream.shape;
      const weights: GateWeights = {
        hidden,
        copies,
        q: golden.get(`${name}.q_weight`, "BF16").values,
        k: golden.get(`${name}.k_weight`, "BF16").values,
        eps: golden.get(`${name}.eps`, "F64").values[0],
      };
      const input: GateInput = {
        tokens,
        stream: stream.values,
        kv: golden.get(`${name}.kv`, "BF16").values,
        ...(golden.has(`${name}.mask`) && { mask: golden.get(`${name}.mask`, "U8").values }),
      };
      const found = await kernels.gate(weights, input);
      assertGates(found.gate, golden.get(`${name}.gate_f64`, "F64").values);
      assertNearBf16(found.output, golden.get(`${name}.output_f64`, "F64").values, "output");
      assertMasked(input, found.output, weights);
    });
  }

  const expected = goldenTensors("mini/expected.safetensors");
  for (const layer of [1, 14]) {
    await step(`the golden checkpoint's layer ${layer}`, async () => {
      const weights = goldenTensors("mini/model-00001-of-00002.safetensors");
      const keys = goldenTensors("mini/model-00002-of-00002.safetensors");
      const dead = expected.get("dead", "U8").values;
      const found = await kernels.gate({
        hidden: 64,
        copies: 4,
        q: weights.get(`layers.${layer}.engram.q_weight`, "BF16").values,
        k: keys.get(`layers.${layer}.engram.k_weight`, "BF16").values,
        eps: 1e-6,
      }, {
        tokens: 64,
        stream: expected.get(`layers.${layer}.hidden`, "BF16").values,
        kv: expected.get(`layers.${layer}.kv`, "BF16").values,
        mask: dead.map((isDead) => 1 - isDead),
      });
      assertGates(found.gate, expected.get(`layers.${layer}.gate_f64`, "F64").values);
      assertNearBf16(found.output, expected.get(`layers.${layer}.output_f64`, "F64").values, "out");
    });
  }

  const sizes: [tokens: number, copies: number, hidden: number][] = [
    [1, 1, 1],
    [3, 2, 7],
    [4, 3, 257],
    [5, 5, 96],
    [2, 6, 1024],
    [2, 7, 255],
    [3, 8, 130],
    [1, 4, 5120],
    [2, 1, 9001],
  ];
  for (const [tokens, copies, hidden] of sizes) {
    for (const eps of [1e-6, 1e-20]) {
      await step(`${tokens} tokens, ${copies} copies of ${hidden}, eps ${eps}`, async () => {
        const random = new Random(tokens * 31 + copies * 7 + hidden);
        const weights = randomWeights(random, copies, hidden, eps);
        const input = randomInput(random, tokens, copies, hidden);
        for (const masked of [false, true]) {
          const mask = Uint8Array.from({ length: tokens }, (_, t) => t % 2);
          const given = masked ? { ...input, mask } : input;
          const found = await kernels.gate(weights, given);
          const wanted = gateOracle(weights, given);
          assertGates(found.gate, wanted.gate);
          assertNearBf16(found.output, wanted.output, "output", {
            slack: (i) => wanted.sizes[i] * 2e-6,
          });
          assertMasked(given, found.output, weights);
        }
      });
    }
  }

  await step(
    "all-zero vectors and a zero of either sign stay finite and count as plus",
    async () => {
      const hidden = 64, copies = 2, eps = 1e-20;
      const ones = new Uint16Array(copies * hidden).fill(0x3f80);
      const weights: GateWeights = { hidden, copies, q: ones, k: ones, eps };
      for (const [stream, key] of [[0, 0], [0x8000, 0x3f80], [0x3f80, 0], [0, 0x8000]]) {
        const kv = new Uint16Array(3 * hidden).fill(key, 0, 2 * hidden).fill(0x3f80, 2 * hidden);
        const input = { tokens: 1, stream: new Uint16Array(2 * hidden).fill(stream), kv };
        const found = await kernels.gate(weights, input);
        const plus = 1 / (1 + Math.exp(-1e-3));
        assertGates(found.gate, [plus, plus]);
        const wanted = new Array(2 * hidden).fill(bf16Number(stream) + plus);
        assertNearBf16(found.output, wanted, "output");
      }
    },
  );

  await step("masked tokens keep even NaN and infinity bit for bit", async () => {
    const random = new Random(5);
    const weights = randomWeights(random, 2, 40, 1e-6);
    const input = randomInput(random, 3, 2, 40);
    input.stream.set([0x7fc1, 0xff80, 0x8000, 0x0001], 80);
    input.kv.fill(0x7f80, 120, 240);
    const mask = Uint8Array.of(1, 0, 1);
    const { output, gate } = await kernels.gate(weights, { ...input, mask });
    assertSameBits(output.slice(80, 160), input.stream.subarray(80, 160), "masked token");
    assert.equal(output[80], 0x7fc1, "the very NaN that came in");
    assert.deepEqual([...gate.subarray(2, 4)], [0, 0]);
  });

  await step("zero tokens, and 70,001 tokens", async () => {
    const random = new Random(9);
    const weights = randomWeights(random, 1, 8, 1e-6);
    const nothing = { tokens: 0, stream: new Uint16Array(0), kv: new Uint16Array(0) };
    const none = await kernels.gate(weights, nothing);
    assert.deepEqual([none.gate.length, none.output.length], [0, 0]);
    const few = randomInput(random, 7, 1, 8);
    const tokens = 70_001;
    const stream = Uint16Array.from({ length: tokens * 8 }, (_, i) => few.stream[i % 56]);
    const kv = Uint16Array.from({ length: tokens * 16 }, (_, i) => few.kv[i % 112]);
    const found = await kernels.gate(weights, { tokens, stream, kv });
    const wanted = gateOracle(weights, few);
    assertGates(found.gate, Float64Array.from({ length: tokens }, (_, t) => wanted.gate[t % 7]));
    assertNearBf16(found.output.subarray(-56), rotated(wanted.output, tokens % 7 * 8), "the end", {
      slack: () => 1e-6,
      equalPercent: 95,
    });
  });
};

function assertMasked(input: GateInput, output: Uint16Array, { copies, hidden }: GateWeights) {
  input.mask?.forEach((keep, t) => {
    const [from, end] = [t * copies * hidden, (t + 1) * copies * hidden];
    if (!keep) assert.deepEqual(output.subarray(from, end), input.stream.subarray(from, end));
  });
}

function randomWeights(random: Random, copies: number, hidden: number, eps: number): GateWeights {
  const q = randomBf16(random, copies * hidden);
  const k = randomBf16(random, copies * hidden);
  return { hidden, copies, q, k, eps };
}

function randomInput(random: Random, tokens: number, copies: number, hidden: number) {
  const stream = randomBf16(random, tokens * copies * hidden);
  const kv = randomBf16(random, tokens * (copies + 1) * hidden, 0.3);
  return { tokens, stream, kv };
}

function rotated(values: Float64Array, by: number): Float64Array {
  return Float64Array.from(values, (_, i) => values[(i + by) % values.length]);
}
