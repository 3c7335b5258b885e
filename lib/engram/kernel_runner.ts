import type { Layout } from "../layout/layout.ts";
import type { EngramRunner, RunnerInput, RunnerLayer, RunnerLayerOutput } from "./engram_runner.ts";
import { layerIds } from "./layer_ids.ts";
import type { Kernels } from "./kernels.ts";
import { lookUpRows } from "./look_up_rows.ts";

/**
 * The module composed of one device's kernels, with every result passing through host memory: the
 * plain twin of the runner that keeps its data on the GPU, and the one used on the CPU.
 */
export class KernelRunner implements EngramRunner {
  readonly note: string;
  readonly #kernels: Kernels;
  readonly #layout: Layout;
  readonly #padId: number;
  readonly #layers: readonly RunnerLayer[];

  /** A runner of `layers` (in the layout's order) on `kernels`, which stay the caller's to close. */
  constructor(kernels: Kernels, layout: Layout, padId: number, layers: readonly RunnerLayer[]) {
    this.#kernels = kernels;
    this.#layout = layout;
    this.#padId = padId;
    this.#layers = layers;
    this.note = `${kernels.description}, rows from ${
      [...new Set(layers.map((layer) => layer.store.place))].join(", ")
    }`;
  }

  async run(input: RunnerInput): Promise<RunnerLayerOutput[]> {
    const { columns } = this.#layout;
    const tokens = input.batch.ids.length;
    const hashed = await this.#kernels.hash(this.#layout, this.#padId, input.batch);
    const results: RunnerLayerOutput[] = [];
    for (const [index, layer] of this.#layers.entries()) {
      const ids = layerIds(hashed, index, this.#layers.length, columns);
      const rows = await lookUpRows(this.#kernels, layer.store, ids);
      const kv = await this.#kernels.project(layer.projection, rows, tokens);
      const gated = await this.#kernels.gate(layer.gate, {
        tokens,
        kv,
        stream: input.streams[index],
        ...(input.mask ? { mask: input.mask } : {}),
      });
      results.push({
        ...gated,
        ...(input.keep?.ids ? { ids } : {}),
        ...(input.keep?.rows ? { rows } : {}),
        ...(input.keep?.kv ? { kv } : {}),
      });
    }
    return results;
  }

  close(): void {}
}
