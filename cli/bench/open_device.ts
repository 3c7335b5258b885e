import type { OpenedKernels } from "../../lib/gpu/open_kernels.ts";
import type { GpuDevice } from "../../lib/gpu/gpu_device.ts";
import { quietVulkan } from "../quiet_vulkan.ts";
import type { BenchRequest } from "./request.ts";

/** The device of a benchmark; disposing closes it. */
export interface BenchDevice extends Disposable {
  readonly opened: OpenedKernels;
  /** Where it is a GPU with a clock that can be read. */
  readonly timed: GpuDevice | null;
}

/** Opens the device a benchmark runs on, with a note that says which. */
export async function openBenchDevice({ device, note }: BenchRequest): Promise<BenchDevice> {
  quietVulkan();
  const { openKernels } = await import("../../lib/gpu/open_kernels.ts");
  const { GpuKernels } = await import("../../lib/gpu/gpu_kernels.ts");
  const opened = await openKernels(device);
  const { kernels } = opened;
  note(opened.note);
  return {
    opened,
    timed: kernels instanceof GpuKernels && kernels.gpu.timestamps ? kernels.gpu : null,
    [Symbol.dispose]: () => kernels.close(),
  };
}
