import { EngramError } from "../../../lib/errors.ts";
import { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { requestDevice } from "../../../lib/gpu/request_device.ts";
import { quietVulkan } from "../../quiet_vulkan.ts";
import { benchChain } from "../gpu/bench_chain.ts";
import { benchCopy } from "../gpu/bench_copy.ts";
import { benchGate } from "../gpu/bench_gate.ts";
import { benchHash } from "../gpu/bench_hash.ts";
import { benchLookup, benchWholeTable } from "../gpu/bench_lookup.ts";
import { benchProjection } from "../gpu/bench_projection.ts";
import { kernelResult } from "../gpu/kernel_result.ts";
import type { Measured, Report } from "../gpu/report.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";

type KernelBench = (kernels: GpuKernels, report: Report, small: boolean) => Promise<void>;

const BENCHES: Readonly<Record<string, KernelBench>> = {
  copy: benchCopy,
  lookup: benchLookup,
  hash: benchHash,
  gate: benchGate,
  projection: benchProjection,
  chain: benchChain,
  table: benchWholeTable,
};

/**
 * Every kernel by the GPU's own timestamps, at the released sizes, each result checked in the same
 * run; a software adapter gets small ones. `table` allocates the whole released layer 1.
 */
export async function* kernelsWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  const unknown = request.kernels.find((name) => !Object.hasOwn(BENCHES, name));
  if (unknown !== undefined) {
    throw new EngramError(
      "usage",
      `Cannot time kernel "${unknown}": wanted some of ${Object.keys(BENCHES).join(", ")}`,
      { where: "--kernels" },
    );
  }
  quietVulkan();
  const kernels = new GpuKernels(await requestDevice());
  try {
    if (!kernels.gpu.timestamps) {
      throw new EngramError(
        "no_gpu",
        `Cannot time kernels: ${kernels.description} has no timestamps`,
      );
    }
    const asked = request.kernels.length > 0
      ? request.kernels
      : Object.keys(BENCHES).filter((name) => name !== "table");
    for (const name of asked) {
      const measured: Measured[] = [];
      const report: Report = { add: (one) => void measured.push(one) };
      await BENCHES[name](kernels, report, kernels.gpu.software);
      for (const one of measured) yield kernelResult(one, kernels.description);
    }
  } finally {
    kernels.close();
  }
}
