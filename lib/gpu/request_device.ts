import { EngramError } from "../errors.ts";
import { GpuDevice } from "./gpu_device.ts";

/** Limits taken as high as the adapter has them; all others stay at WebGPU's defaults. */
export const WANTED_LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxBindingsPerBindGroup",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
] as const;

/** Features used where the adapter has them; every kernel is right without. */
export const WANTED_FEATURES = ["timestamp-query"] as const;

/** Whether the runtime has WebGPU at all. */
export function hasWebGpu(): boolean {
  return typeof navigator !== "undefined" && "gpu" in navigator && navigator.gpu !== undefined;
}

/** The adapter the system offers first, or null. */
export async function findAdapter(): Promise<GPUAdapter | null> {
  if (!hasWebGpu()) return null;
  return await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
}

/** What an adapter calls itself. */
export function adapterName({ info }: GPUAdapter): string {
  return info.description || info.device || info.vendor || "unnamed adapter";
}

/**
 * A device of the first adapter, with every limit and feature the kernels can use.
 *
 * @throws an {@linkcode EngramError} of kind `no_gpu` when there is none.
 */
export async function requestDevice(): Promise<GpuDevice> {
  const adapter = await findAdapter();
  if (!adapter) {
    throw new EngramError(
      "no_gpu",
      `Cannot use a GPU: ${hasWebGpu() ? "WebGPU finds no adapter" : "this runtime has no WebGPU"}`,
      { hint: "Run `engram doctor` to see what is missing, or use `--device cpu`" },
    );
  }
  const name = adapterName(adapter);
  try {
    const device = await adapter.requestDevice({
      requiredLimits: Object.fromEntries(
        WANTED_LIMITS.map((limit) => [limit, adapter.limits[limit]]),
      ),
      requiredFeatures: WANTED_FEATURES.filter((feature) => adapter.features.has(feature)),
    });
    return new GpuDevice(device, name, adapter.info.isFallbackAdapter);
  } catch (cause) {
    throw new EngramError("no_gpu", `Cannot use the GPU ${name}: it gives no device`, {
      cause,
      hint: "Run `engram doctor` to see its limits, or use `--device cpu`",
    });
  }
}
