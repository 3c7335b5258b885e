import { EngramError } from "../errors.ts";
import { GpuKernels } from "./gpu_kernels.ts";
import {
  adapterName,
  findAdapter,
  hasWebGpu,
  requestDevice,
  WANTED_FEATURES,
  WANTED_LIMITS,
} from "./request_device.ts";
import { selfTest } from "./self_test.ts";

/** What is known of the GPU that kernels would run on. */
export interface AdapterDescription {
  /** What the adapter calls itself. */
  readonly name: string;
  /** Whether it is a processor pretending to be a GPU. */
  readonly software: boolean;
  /** The limits kernels depend on, bytes or counts. */
  readonly limits: Readonly<Record<string, number>>;
  /** The features kernels use, and whether it has them. */
  readonly features: Readonly<Record<string, boolean>>;
  /** Whether every kernel gives the CPU's results on a small batch; else what is wrong. */
  readonly selfTest: "passed" | string;
}

/** Tries the first adapter, or says in one sentence why there is none. */
export async function describeAdapter(): Promise<AdapterDescription | string> {
  if (!hasWebGpu()) return "this runtime has no WebGPU";
  const adapter = await findAdapter();
  if (!adapter) return "WebGPU finds no adapter: there is no Vulkan driver, or it finds no GPU";
  return {
    name: adapterName(adapter),
    software: adapter.info.isFallbackAdapter,
    limits: Object.fromEntries(WANTED_LIMITS.map((limit) => [limit, adapter.limits[limit]])),
    features: Object.fromEntries(
      WANTED_FEATURES.map((feature) => [feature, adapter.features.has(feature)]),
    ),
    selfTest: await tested(),
  };
}

async function tested(): Promise<string> {
  let kernels: GpuKernels | undefined;
  try {
    kernels = new GpuKernels(await requestDevice());
    return await selfTest(kernels) ?? "passed";
  } catch (error) {
    if (error instanceof EngramError) return error.message;
    throw error;
  } finally {
    kernels?.close();
  }
}
