import assert from "node:assert/strict";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { loadLayer } from "../../lib/engram/load_layer.ts";
import { type OpenedKernels, openKernels } from "../../lib/gpu/open_kernels.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { hasGpu } from "../gpu/open_gpu.ts";
import { assertNearBf16, assertSameBits, bf16Number } from "../kernels/bf16_oracle.ts";

Deno.test("the golden checkpoint's text: ids, rows, kv, gates and outputs of both layers", async () => {
  await checkGolden(await openKernels("cpu"), "CPU, rows from file");
});

if (await hasGpu()) {
  Deno.test("the golden checkpoint's text on the GPU, tables kept there and rows gathered", async () => {
    const kept = await openKernels("gpu");
    await checkGolden(kept, `${kept.kernels.description}, rows from GPU`);
    const opened = await openKernels("gpu");
    await checkGolden({ ...opened, keep: null }, `${opened.kernels.description}, rows from file`);
  });
}

/** Runs the module on `opened`, tables kept on it where it can. */
async function checkGolden(opened: OpenedKernels, note: string): Promise<void> {
  const expected = goldenTensors("mini/expected.safetensors");
  const map = goldenJson<Record<string, number>>("deepseek_v3_ids.json");
  const checkpoint = await openCheckpoint(goldenPath("mini"));
  try {
    const { config, layers } = checkpoint;
    const layout = buildLayout(config, 98627);
    const loaded = await Promise.all(layers.map(async (layer) => {
      const store = await opened.keep?.(layer) ?? fileStore(layer);
      return await loadLayer(layer, config, store);
    }));
    const runner = await opened.runner(layout, map[config.padTokenId], loaded);
    assert.equal(runner.note, note);
    const tokenIds = expected.get("token_ids", "I32").values;
    const dead = expected.get("dead", "U8").values;
    const outputs = await runner.run({
      batch: {
        ids: tokenIds.map((id) => map[id]),
        positions: Int32Array.from(tokenIds, (_, i) => i),
        starts: Int32Array.of(0, tokenIds.length),
        dead,
        windowDepth: 0,
      },
      streams: [1, 14].map((id) => expected.get(`layers.${id}.hidden`, "BF16").values),
      mask: dead.map((isDead) => 1 - isDead),
      keep: { ids: true, rows: true, kv: true },
    });
    const hashed = expected.get("hash_ids", "I32").values;
    outputs.forEach(({ ids, rows, kv, gate, output }, i) => {
      const name = `layers.${layers[i].layerId}`;
      const wantedIds = hashed.filter((_, at) => Math.floor(at / 24) % 2 === i);
      assert.deepEqual(ids, wantedIds, `${name} ids`);
      assertSameBits(rows!, expected.get(`${name}.rows_bf16_bits`, "I32").values, `${name} rows`);
      const wantedKv = Array.from(expected.get(`${name}.kv`, "BF16").values, bf16Number);
      assertNearBf16(kv!, wantedKv, `${name} kv`, { slack: () => 2e-5 });
      const gates = expected.get(`${name}.gate_f64`, "F64").values;
      gate.forEach((g, at) => assert.ok(Math.abs(g - gates[at]) < 1e-5, `${name} gate ${at}`));
      // A value one bf16 step off, as sums in float32 may be, moves the output by the gate times that.
      const { hcMult: copies, hiddenSize: hidden } = config;
      const slack = (at: number) => {
        const [gated, h] = [Math.floor(at / hidden), at % hidden];
        const place = (Math.floor(gated / copies) * (copies + 1) + copies) * hidden + h;
        const moved = gates[gated] * Math.abs(bf16Number(kv![place]) - wantedKv[place]);
        return moved === 0 ? 0 : moved + 2 ** -8 * Math.abs(bf16Number(output[at]));
      };
      const outputs = expected.get(`${name}.output_f64`, "F64").values;
      assertNearBf16(output, outputs, `${name} output`, { slack });
    });
    runner.close();
    for (const { store } of loaded) store.close();
  } finally {
    opened.kernels.close();
    checkpoint.close();
  }
}
