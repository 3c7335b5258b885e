import { openCheckpoint } from "../../../lib/checkpoint/open_checkpoint.ts";
import { KernelRunner } from "../../../lib/engram/kernel_runner.ts";
import type { Kernels } from "../../../lib/engram/kernels.ts";
import { loadLayer } from "../../../lib/engram/load_layer.ts";
import { SeededHidden } from "../../../lib/engram/seeded_hidden.ts";
import { CpuKernels } from "../../../lib/engram/cpu_kernels.ts";
import { buildLayout } from "../../../lib/layout/build_layout.ts";
import { fileStore } from "../../../lib/table/file_store.ts";
import { quietVulkan } from "../../quiet_vulkan.ts";
import { benchCheckpoint } from "../bench_checkpoint.ts";
import { benchIds } from "../bench_ids.ts";
import { oneRequest } from "../one_request.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

/** The whole module: hash, lookup, projection and gate of every layer, rows read from files. */
export async function* evalWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  quietVulkan();
  const { openKernels } = await import("../../../lib/gpu/open_kernels.ts");
  const { kernels, note } = await openKernels(request.device);
  request.note(note);
  try {
    yield* cases(request, kernels);
  } finally {
    kernels.close();
  }
}

async function* cases(request: BenchRequest, kernels: Kernels): AsyncIterable<BenchResult> {
  const checkpoint = await openCheckpoint(benchCheckpoint(request));
  try {
    const { config } = checkpoint;
    const layout = buildLayout(config);
    const layers = [];
    for (const layer of checkpoint.layers) {
      layers.push(await loadLayer(layer, config, fileStore(layer)));
    }
    const hidden = new SeededHidden(1, config.hcMult, config.hiddenSize);
    const devices = kernels.device === "gpu" ? [kernels, new CpuKernels()] : [kernels];
    for (const tokens of request.tokens) {
      for (const kind of request.ids) {
        const { ids, warnings } = await benchIds(request, kind, tokens, layout.compressedVocabSize);
        const streams: Uint16Array[] = [];
        for (const { layerId } of layout.layers) {
          streams.push(await hidden.read(layerId, 0, tokens));
        }
        for (const device of devices) {
          const runner = new KernelRunner(device, layout, 0, layers);
          yield {
            name: "eval",
            variant: device.description,
            role: device.device === "cpu" && devices.length > 1 ? "baseline" : "case",
            parameters: { tokens, ids: kind },
            work: {
              tokens,
              rows: tokens * layers.length * layout.columns,
              distinctRows: null,
              bytes: null,
            },
            counted: `tokens through all ${layers.length} layers`,
            excluded:
              "tokenizing, loading weights; reading rows, upload and download are in the time",
            samples: await sample(async () => {
              await runner.run({ batch: oneRequest(ids), streams });
            }, request.sampling),
            gpuSamples: null,
            warnings,
          };
        }
      }
    }
  } finally {
    checkpoint.close();
  }
}
