import { openCheckpoint } from "../../../lib/checkpoint/open_checkpoint.ts";
import type { Checkpoint } from "../../../lib/checkpoint/checkpoint.ts";
import type { EngramRunner, RunnerInput, RunnerLayer } from "../../../lib/engram/engram_runner.ts";
import { loadLayer } from "../../../lib/engram/load_layer.ts";
import { SeededHidden } from "../../../lib/engram/seeded_hidden.ts";
import type { GpuDevice } from "../../../lib/gpu/gpu_device.ts";
import { GpuRunner } from "../../../lib/gpu/gpu_runner.ts";
import { openKernels } from "../../../lib/gpu/open_kernels.ts";
import { buildLayout } from "../../../lib/layout/build_layout.ts";
import type { Layout } from "../../../lib/layout/layout.ts";
import { type BenchBackend, openBackend } from "../backends.ts";
import { benchCheckpoint } from "../bench_checkpoint.ts";
import { benchIds } from "../bench_ids.ts";
import { timeDispatches } from "../gpu/time_dispatches.ts";
import { oneRequest } from "../one_request.ts";
import { type BenchDevice, openBenchDevice } from "../open_device.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

/** Products of a batch's projections up to which the CPU is measured beside a GPU: some ten seconds. */
const MOST_CPU_PRODUCTS = 1e10;

/** A device with the module on it. */
interface Ready {
  readonly runner: EngramRunner;
  readonly role: "case" | "baseline";
  /** The GPU's name; null on a CPU. */
  readonly adapter: string | null;
  /** The GPU, where its clock can be read. */
  readonly timed: GpuDevice | null;
}

/** The whole module: hash, lookup, projection and gate of every layer, rows from each backend. */
export async function* evalWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  using device = await openBenchDevice(request);
  using stack = new DisposableStack();
  const checkpoint = stack.adopt(
    await openCheckpoint(benchCheckpoint(request)),
    (opened) => opened.close(),
  );
  const layout = buildLayout(checkpoint.config);
  const { opened: { keep, kernels } } = device;
  for (const backend of request.backends ?? unlessTold(keep !== null)) {
    using held = new DisposableStack();
    const layers = await loadLayers(checkpoint, backend, request, device, held);
    if (!layers) continue;
    const runner = held.adopt(await device.opened.runner(layout, 0, layers), (one) => one.close());
    const adapter = keep && kernels.description;
    yield* cases(request, checkpoint, layout, {
      runner,
      role: "case",
      adapter,
      timed: device.timed,
    });
  }
  if (!keep) return;
  const cpu = await openKernels("cpu");
  const layers = await loadLayers(checkpoint, "file", request, { opened: cpu }, stack);
  const runner = await cpu.runner(layout, 0, layers!);
  yield* cases(request, checkpoint, layout, {
    runner,
    role: "baseline",
    adapter: null,
    timed: null,
  });
}

/** What is measured unless told otherwise. */
function unlessTold(onGpu: boolean): readonly BenchBackend[] {
  return onGpu ? ["gpu", "file"] : ["file"];
}

/** Every layer with its rows in `backend`; null, with a note, where they cannot be had there. */
async function loadLayers(
  { config, layers }: Checkpoint,
  backend: BenchBackend,
  request: BenchRequest,
  { opened }: Pick<BenchDevice, "opened">,
  held: DisposableStack,
): Promise<RunnerLayer[] | null> {
  const loaded: RunnerLayer[] = [];
  for (const layer of layers) {
    const rows = await openBackend(backend, layer, request, opened);
    if (!rows) return null;
    loaded.push(await loadLayer(layer, config, held.use(rows).store));
  }
  return loaded;
}

async function* cases(
  request: BenchRequest,
  { config }: Checkpoint,
  layout: Layout,
  { runner, role, adapter, timed }: Ready,
): AsyncIterable<BenchResult> {
  const { hcMult, hiddenSize, headDim } = config;
  const hidden = new SeededHidden(1, hcMult, hiddenSize);
  const layers = layout.layers.length;
  const products = layers * (hcMult + 1) * hiddenSize * layout.columns * headDim;
  for (const tokens of request.tokens) {
    if (role === "baseline" && tokens * products > MOST_CPU_PRODUCTS) {
      request.note(`eval: ${tokens} tokens on the CPU left out, they would take too long`);
      continue;
    }
    for (const kind of request.ids) {
      const { ids, warnings } = await benchIds(request, kind, tokens, layout.compressedVocabSize);
      const streams: Uint16Array[] = [];
      for (const { layerId } of layout.layers) {
        streams.push(await hidden.read(layerId, 0, tokens));
      }
      const input = { batch: oneRequest(ids), streams };
      const result: BenchResult = {
        name: "eval",
        variant: runner.note,
        role,
        parameters: { tokens, ids: kind, ...(adapter !== null && { adapter }) },
        work: { tokens, rows: tokens * layers * layout.columns, distinctRows: null, bytes: null },
        counted: `tokens through all ${layers} layers`,
        excluded: "tokenizing, loading weights and tables",
        samples: await sample(async () => void await runner.run(input), request.sampling),
        gpuSamples: null,
        warnings,
      };
      yield result;
      const gpuSamples = timed && runner instanceof GpuRunner
        ? await gpuTimes(timed, runner, input)
        : null;
      if (!gpuSamples) continue;
      yield {
        ...result,
        variant: `${runner.note}, kernels by the GPU's clock`,
        excluded: `${result.excluded}, reading rows, upload and download`,
        samples: [],
        gpuSamples,
      };
    }
  }
}

/** Seconds of a batch's kernels by the GPU's clock; null where it is more than one piece. */
async function gpuTimes(
  gpu: GpuDevice,
  runner: GpuRunner,
  input: RunnerInput,
): Promise<number[] | null> {
  if (input.batch.ids.length > runner.pieceTokens) return null;
  using lease = gpu.lease();
  const dispatches = await runner.dispatches(input, lease);
  const samples = await timeDispatches(gpu, [dispatches], { quick: gpu.software });
  return samples.toSorted((a, b) => a - b);
}
