import { Option } from "@commander-js/extra-typings";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import type { Printer } from "./printer.ts";
import { quietVulkan } from "./quiet_vulkan.ts";

/** Where kernels can run. */
const DEVICES = ["auto", "gpu", "cpu"] as const;

/** The option `--device`. */
export function deviceOption() {
  return new Option("--device <where>", "run on the GPU, the CPU, or the GPU where there is one")
    .choices(DEVICES).default("auto" as const);
}

/** Opens the device asked for and says which was chosen. */
export async function openDevice(
  device: (typeof DEVICES)[number],
  printer: Pick<Printer, "note">,
): Promise<OpenedKernels> {
  quietVulkan();
  const { openKernels } = await import("../lib/gpu/open_kernels.ts");
  const opened = await openKernels(device);
  printer.note(`device: ${opened.note}`);
  return opened;
}
