import { GpuKernels } from "../../lib/gpu/gpu_kernels.ts";
import { findAdapter, requestDevice } from "../../lib/gpu/request_device.ts";

/** Whether this machine has an adapter. Says so where it has none, and with CI=true fails. */
export async function hasGpu(): Promise<boolean> {
  if (await findAdapter()) return true;
  const why = "WebGPU finds no adapter: install mesa-vulkan-drivers for a software one";
  if (Deno.env.get("CI") === "true") throw new Error(`CI must test the GPU kernels, but ${why}`);
  console.log(`GPU tests are left out: ${why}`);
  return false;
}

/** Kernels on the first adapter, without the self-test. */
export async function gpuKernels(): Promise<GpuKernels> {
  return new GpuKernels(await requestDevice());
}
