import { Option } from "@commander-js/extra-typings";
import type { Kernels } from "../lib/engram/kernels.ts";
import type { Printer } from "./printer.ts";
import { quietVulkan } from "./quiet_vulkan.ts";

/** Where kernels can run. */
const DEVICES = ["auto", "gpu", "cpu"] as const;

/** The option `--device`. */
export function deviceOption() {
  return new Option("--device <where>", "run on the GPU, the CPU, or the GPU where there is one")
    .choices(DEVICES).default("auto" as const);
}

/** Opens the kernels of the device asked for and says which was chosen, and how rows get there. */
export async function openDevice(
  device: (typeof DEVICES)[number],
  rows: string,
  printer: Pick<Printer, "note">,
): Promise<Kernels> {
  quietVulkan();
  const { openKernels } = await import("../lib/gpu/open_kernels.ts");
  const { kernels, note } = await openKernels(device);
  printer.note(`device: ${note}`);
  const path = kernels.device === "gpu" ? ", gathered on the host and uploaded" : "";
  printer.note(`rows: read from ${rows}${path}`);
  return kernels;
}
