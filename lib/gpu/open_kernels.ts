import { CpuKernels } from "../engram/cpu_kernels.ts";
import type { EngramRunner, RunnerLayer } from "../engram/engram_runner.ts";
import { KernelRows } from "../engram/kernel_rows.ts";
import { KernelRunner } from "../engram/kernel_runner.ts";
import type { Kernels } from "../engram/kernels.ts";
import { wholeRows } from "../engram/layer_rows.ts";
import type { ModuleRows } from "../engram/module_rows.ts";
import { EngramError } from "../errors.ts";
import type { Layout } from "../layout/layout.ts";
import type { RowStore } from "../table/row_store.ts";
import type { StoredLayer } from "../table/table_parts.ts";
import { GpuKernels } from "./gpu_kernels.ts";
import { GpuRows } from "./gpu_rows.ts";
import { GpuRunner } from "./gpu_runner.ts";
import { requestDevice } from "./request_device.ts";
import { ResidentStore } from "./resident_store.ts";
import { selfTest } from "./self_test.ts";

/** Where kernels are wanted: `auto` is the GPU where there is a real one that works, else the CPU. */
export type DeviceChoice = "auto" | "gpu" | "cpu";

/** How a table is kept on the device. */
export interface KeepOptions {
  /** Ends the copying with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal;
  /** Called with how many rows more are there. */
  readonly loaded?: (rows: number) => void;
}

/** The device that was found, and what runs on it. */
export interface OpenedKernels {
  /** To be closed by the caller, after all that runs on them. */
  readonly kernels: Kernels;
  /** For people: which device, and why not the GPU. */
  readonly note: string;
  /** The whole module on the device; `layers` in the layout's order. To be closed by the caller. */
  runner(layout: Layout, padId: number, layers: readonly RunnerLayer[]): Promise<EngramRunner>;
  /** Its first half, rows alone; a store for each layer. To be closed by the caller. */
  rows(layout: Layout, padId: number, stores: readonly RowStore[]): Promise<ModuleRows>;
  /**
   * Copies a layer's whole table to the device's own memory. Null where the device has none but the
   * host's.
   *
   * @throws an {@linkcode EngramError} of kind `unavailable` where it does not fit.
   */
  readonly keep: ((layer: StoredLayer, options?: KeepOptions) => Promise<RowStore>) | null;
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
    if (wrong === undefined) return onGpu(kernels);
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

function onGpu(kernels: GpuKernels): OpenedKernels {
  const { gpu } = kernels;
  return {
    kernels,
    note: `GPU: ${kernels.description}`,
    runner: (layout, padId, layers) => GpuRunner.create(gpu, layout, padId, layers),
    rows: (layout, padId, stores) => GpuRows.create(gpu, layout, padId, stores),
    keep: (layer, options) => ResidentStore.load(gpu, layer, options),
  };
}

function onCpu(why: string): OpenedKernels {
  const kernels = new CpuKernels();
  return {
    kernels,
    note: `CPU${why}`,
    // deno-lint-ignore require-await -- the seam is asynchronous for the GPU's sake
    runner: async (layout, padId, layers) => new KernelRunner(kernels, layout, padId, layers),
    // deno-lint-ignore require-await -- as above
    async rows(layout, padId, stores) {
      const layers = stores.map((store) => wholeRows(kernels, store, layout.columns));
      return new KernelRows(kernels, layout, padId, layers);
    },
    keep: null,
  };
}
