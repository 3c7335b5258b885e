import { CpuKernels } from "../engram/cpu_kernels.ts";
import type { Kernels } from "../engram/kernels.ts";
import { EngramError } from "../errors.ts";
import { GpuKernels } from "./gpu_kernels.ts";
import { requestDevice } from "./request_device.ts";
import { selfTest } from "./self_test.ts";

/** Where kernels are wanted: `auto` is the GPU where there is a real one that works, else the CPU. */
export type DeviceChoice = "auto" | "gpu" | "cpu";

/** Kernels on the device that was found. */
export interface OpenedKernels {
  /** To be closed by the caller. */
  readonly kernels: Kernels;
  /** For people: which device, and why not the GPU. */
  readonly note: string;
}

/**
 * Opens the kernels of the device asked for. A GPU must first give the CPU's results on one small
 * batch.
 *
 * @throws an {@linkcode EngramError} of kind `no_gpu` when `gpu` is asked for and there is none that
 * works.
 */
export async function openKernels(device: DeviceChoice): Promise<OpenedKernels> {
  if (device === "cpu") return onCpu("");
  try {
    const gpu = await requestDevice();
    if (device === "auto" && gpu.software) {
      gpu.close();
      return onCpu(` (the only GPU is a software one: ${gpu.name})`);
    }
    const kernels = new GpuKernels(gpu);
    const wrong = await testOrClose(kernels);
    if (wrong === undefined) return { kernels, note: `GPU: ${kernels.description}` };
    throw new EngramError(
      "no_gpu",
      `Cannot use the GPU ${kernels.description}: its self-test fails in ${wrong}`,
      { hint: "Update its driver, or use `--device cpu`" },
    );
  } catch (error) {
    if (device === "gpu" || !(error instanceof EngramError)) throw error;
    return onCpu(` (${error.message})`);
  }
}

async function testOrClose(kernels: GpuKernels): Promise<string | undefined> {
  try {
    const wrong = await selfTest(kernels);
    if (wrong !== undefined) kernels.close();
    return wrong;
  } catch (cause) {
    kernels.close();
    throw new EngramError(
      "no_gpu",
      `Cannot use the GPU ${kernels.description}: its self-test breaks off`,
      { cause, hint: "Update its driver, or use `--device cpu`" },
    );
  }
}

function onCpu(why: string): OpenedKernels {
  return { kernels: new CpuKernels(), note: `CPU${why}` };
}
