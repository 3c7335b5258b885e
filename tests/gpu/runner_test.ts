import assert from "node:assert/strict";
import type {
  RunnerInput,
  RunnerLayer,
  RunnerLayerOutput,
} from "../../lib/engram/engram_runner.ts";
import { inOrder } from "../../lib/engram/in_order.ts";
import { KernelRows } from "../../lib/engram/kernel_rows.ts";
import { KernelRunner } from "../../lib/engram/kernel_runner.ts";
import { wholeRows } from "../../lib/engram/layer_rows.ts";
import { GpuDevice } from "../../lib/gpu/gpu_device.ts";
import { GpuKernels } from "../../lib/gpu/gpu_kernels.ts";
import { GpuRows } from "../../lib/gpu/gpu_rows.ts";
import { GpuRunner } from "../../lib/gpu/gpu_runner.ts";
import { findAdapter, WANTED_LIMITS } from "../../lib/gpu/request_device.ts";
import { ResidentStore } from "../../lib/gpu/resident_store.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import type { RowStore } from "../../lib/table/row_store.ts";
import { type ModelSizes, SyntheticModel } from "../engram/synthetic_model.ts";
import { randomBf16 } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";
import { storedLayer } from "../table/stored_layer.ts";
import { assertSame, assertSameOutputs } from "./assert_same.ts";
import { hasGpu } from "./open_gpu.ts";

const ignore = !(await hasGpu());

/** Three layers, so that each way for rows to get to the GPU has one between two of the other's. */
const SIZES: ModelSizes = {
  layerIds: [2, 3, 9],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 8,
  vocabSize: 40,
  hidden: 24,
  copies: 3,
  eps: 1e-6,
};

/** Rows of 5 × 3 values and streams of 7: nothing is whole words or vectors. */
const ODD: ModelSizes = { ...SIZES, nHeads: 1, maxNgramSize: 6, headDim: 3, hidden: 7, copies: 1 };

/** A device that makes results in pieces of so many bytes. */
async function openDevice(pieceBytes?: number): Promise<GpuDevice> {
  const adapter = (await findAdapter())!;
  const requiredLimits = limitsOf(adapter);
  return new GpuDevice(await adapter.requestDevice({ requiredLimits }), "test", true, pieceBytes);
}

function limitsOf({ limits }: GPUAdapter): Record<string, number> {
  return Object.fromEntries(WANTED_LIMITS.map((limit) => [limit, limits[limit]]));
}

/** Requests cut anywhere, with what lies before them known in part, dead tokens and a mask. */
function randomInput(random: Random, model: SyntheticModel, tokens: number): RunnerInput {
  const { layout, sizes: { copies, hidden } } = model;
  const requests = tokens === 0 ? 1 : 1 + random.below(4);
  const cuts = Array.from({ length: requests - 1 }, () => random.below(tokens + 1));
  const starts = Int32Array.of(0, ...cuts.sort((a, b) => a - b), tokens);
  const first = Array.from({ length: requests }, () => random.below(3) * random.below(2 ** 33));
  const depth = layout.maxNgramSize - 1;
  const compressed = () => random.below(layout.compressedVocabSize);
  const flags = (length: number) =>
    Uint8Array.from({ length }, () => random.below(6) === 0 ? 1 : 0);
  return {
    batch: {
      ids: Int32Array.from({ length: tokens }, compressed),
      positions: Float64Array.from({ length: tokens }, (_, t) => {
        const request = starts.findLastIndex((start) => start <= t);
        return first[request] + t - starts[request];
      }),
      starts,
      dead: flags(tokens),
      window: Int32Array.from(
        { length: requests * depth },
        () => random.below(3) - 1 && compressed(),
      ),
      windowDead: flags(requests * depth),
      windowDepth: depth,
    },
    streams: model.layers.map(() => randomBf16(random, tokens * copies * hidden)),
    ...(random.below(2) && { mask: flags(tokens) }),
    keep: { ids: true, rows: true, kv: true },
  };
}

/** The model's layers, the rows of some of them kept on `gpu`. */
async function layersOf(model: SyntheticModel, gpu: GpuDevice, resident: readonly number[]) {
  const layers: RunnerLayer[] = [];
  for (const [i, { encoding, codes, scales, weights, gate }] of model.layers.entries()) {
    const stored = storedLayer(encoding, codes, scales);
    const store: RowStore = resident.includes(i)
      ? await ResidentStore.load(gpu, stored)
      : fileStore(stored);
    layers.push({ store, projection: weights, gate });
  }
  return layers;
}

const PAD = 5;

for (const [name, sizes] of [["whole vectors", SIZES], ["odd sizes", ODD]] as const) {
  Deno.test({
    name: `the module on the GPU is its kernels one by one: ${name}, in one piece and in many`,
    ignore,
    async fn() {
      const random = new Random(12);
      const model = new SyntheticModel(sizes, 3);
      for (const pieceBytes of [undefined, 2000]) {
        const gpu = await openDevice(pieceBytes);
        const kernels = new GpuKernels(gpu);
        const plain = new KernelRunner(kernels, model.layout, PAD, await layersOf(model, gpu, []));
        const inputs = [0, 1, 2, 7, 90].map((tokens) => randomInput(random, model, tokens));
        const wanted: RunnerLayerOutput[][] = [];
        for (const input of inputs) wanted.push(await plain.run(input));
        for (const resident of [[], [0, 1, 2], [0, 2], [1]]) {
          const layers = await layersOf(model, gpu, resident);
          const runner = await GpuRunner.create(gpu, model.layout, PAD, layers);
          // All at once: batches under way share the device's buffers.
          const found = await Promise.all(inputs.map((input) => runner.run(input)));
          const what = `resident ${resident}`;
          found.forEach((outputs, i) => assertSameOutputs(outputs, wanted[i], what));
          const { keep: _, ...unkept } = inputs[3];
          const bare = wanted[3].map(({ gate, output }) => ({ gate, output }));
          assertSameOutputs(await runner.run(unkept), bare, what);

          const stores = layers.map(({ store }) => store);
          const rows = await GpuRows.create(gpu, model.layout, PAD, stores);
          const whole = stores.map((store) => wholeRows(kernels, store, model.columns));
          const plainRows = new KernelRows(kernels, model.layout, PAD, whole);
          for (const [i, { batch }] of inputs.entries()) {
            const check = (found: Uint16Array[]) =>
              found.forEach((only, layer) => assertSame(only, wanted[i][layer].rows, what));
            check(await rows.run(batch));
            if (resident.length === 2) check(await plainRows.run(batch));
          }
          for (const opened of [runner, rows, ...stores]) opened.close();
        }
        kernels.close();
      }
    },
  });
}

Deno.test({
  name: "the module on the GPU refuses what does not fit together",
  ignore,
  async fn() {
    const gpu = await openDevice();
    const model = new SyntheticModel(SIZES, 3);
    const layers = await layersOf(model, gpu, [1]);
    const runner = await GpuRunner.create(gpu, model.layout, PAD, layers);
    const input = randomInput(new Random(1), model, 9);
    const { streams, batch } = input;
    const bad: [RunnerInput, RegExp][] = [
      [{ ...input, streams: streams.slice(1) }, /run 3 layers: found 2 streams/],
      [
        { ...input, streams: [...streams.slice(1), streams[0].slice(1)] },
        /found 647 stream values/,
      ],
      [{ ...input, mask: new Uint8Array(8) }, /found 8 mask entries, wanted 9/],
      [{ ...input, batch: { ...batch, starts: Int32Array.of(0, 8) } }, /start/],
      [{ ...input, batch: { ...batch, ids: batch.ids.map(() => -7) } }, /-7/],
    ];
    for (const [wrong, says] of bad) {
      await assert.rejects(runner.run(wrong), { name: "EngramError", message: says });
    }
    const { rows } = layers[0].store;
    const few = memoryStore({
      encoding: layers[0].store.encoding,
      codes: model.layers[0].codes.slice(0, (rows - 1) * 8),
      scales: model.layers[0].scales.slice(0, rows - 1),
    });
    const short = [{ ...layers[0], store: few }, ...layers.slice(1)];
    await assert.rejects(GpuRunner.create(gpu, model.layout, PAD, short), /layer 2: its table has/);
    const odd = (await layersOf(new SyntheticModel(ODD, 3), gpu, [])).map(({ projection }, i) => ({
      ...layers[i],
      projection,
    }));
    await assert.rejects(
      GpuRunner.create(gpu, model.layout, PAD, odd),
      /layer 2: its rows are 4 × 8/,
    );
    for (const opened of [runner, ...layers.map(({ store }) => store)]) opened.close();
    gpu.close();
  },
});

Deno.test({
  name: "a row that cannot be read fails its batch, and no other",
  ignore,
  async fn() {
    const gpu = await openDevice(2000);
    const model = new SyntheticModel(SIZES, 3);
    const layers = await layersOf(model, gpu, [1]);
    let broken = false;
    const source = layers[2].store;
    const store: RowStore = {
      ...{ encoding: source.encoding, rows: source.rows, place: "test" },
      async readRecords(ids, out) {
        await source.readRecords(ids, out);
        if (broken) throw new Error("broken");
      },
      close() {},
    };
    const runner = await GpuRunner.create(gpu, model.layout, PAD, [...layers.slice(0, 2), {
      ...layers[2],
      store,
    }]);
    const input = randomInput(new Random(1), model, 60);
    const wanted = await runner.run(input);
    broken = true;
    await assert.rejects(runner.run(input), /broken/);
    broken = false;
    assertSameOutputs(await runner.run(input), wanted, "after the failure");
    for (const opened of [runner, ...layers.map(({ store }) => store)]) opened.close();
    gpu.close();
  },
});

Deno.test({
  name: "rows of the next batch are read while this one is under way",
  ignore,
  async fn() {
    const gpu = await openDevice();
    const model = new SyntheticModel(SIZES, 3);
    const happened: string[] = [];
    const layers = (await layersOf(model, gpu, [1])).map((layer, i): RunnerLayer => {
      if (i !== 0) return layer;
      const { encoding, rows } = layer.store;
      const store: RowStore = {
        ...{ encoding, rows, place: "test", close() {} },
        async readRecords(ids, out) {
          happened.push("read");
          await layer.store.readRecords(ids, out);
        },
      };
      return { ...layer, store };
    });
    const runner = await GpuRunner.create(gpu, model.layout, PAD, layers);
    const inputs = [1, 2, 3, 4].map(() => randomInput(new Random(1), model, 20));
    const run = async (input: RunnerInput) => {
      await runner.run(input);
      happened.push("done");
    };
    for await (const _ of inOrder(inputs, run));
    assert.deepEqual(happened.slice(0, 2), ["read", "read"]);
    assert.deepEqual(happened.toSorted(), [...Array(4).fill("done"), ...Array(4).fill("read")]);
    for (const opened of [runner, ...layers.map(({ store }) => store)]) opened.close();
    gpu.close();
  },
});

Deno.test({
  name: "a lost device is one clear error",
  ignore,
  async fn() {
    const adapter = (await findAdapter())!;
    const requiredLimits = limitsOf(adapter);
    const device = await adapter.requestDevice({ requiredLimits });
    let lose = (_: { reason: "unknown"; message: string }) => {};
    Object.defineProperty(device, "lost", { value: new Promise((resolve) => lose = resolve) });
    const gpu = new GpuDevice(device, "Test GPU", true);
    const model = new SyntheticModel(SIZES, 3);
    const layers = await layersOf(model, gpu, [1]);
    const runner = await GpuRunner.create(gpu, model.layout, PAD, layers);
    const input = randomInput(new Random(1), model, 9);
    await runner.run(input);
    lose({ reason: "unknown", message: "it fell off the bus" });
    const says = "Cannot go on: the GPU Test GPU was lost (it fell off the bus)";
    const runs = await Promise.allSettled([runner.run(input), runner.run(input)]);
    for (const run of runs) {
      assert.equal(run.status === "rejected" && run.reason.message, says);
      assert.equal(run.status === "rejected" && run.reason.kind, "unavailable");
    }
    device.destroy();
  },
});
