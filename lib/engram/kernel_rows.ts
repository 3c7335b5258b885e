import type { HashBatch } from "../hash/hash_batch.ts";
import type { Layout } from "../layout/layout.ts";
import type { Bf16, Kernels } from "./kernels.ts";
import { layerIds } from "./layer_ids.ts";
import type { LayerRows } from "./layer_rows.ts";
import type { ModuleRows } from "./module_rows.ts";

/** Hash and lookup composed of one device's kernels, row numbers passing through host memory. */
export class KernelRows implements ModuleRows {
  readonly #kernels: Kernels;
  readonly #layout: Layout;
  readonly #padId: number;
  readonly #layers: readonly LayerRows[];

  /** The rows of `layers` (in the layout's order) by `kernels`, which stay the caller's to close. */
  constructor(kernels: Kernels, layout: Layout, padId: number, layers: readonly LayerRows[]) {
    this.#kernels = kernels;
    this.#layout = layout;
    this.#padId = padId;
    this.#layers = layers;
  }

  async run(batch: HashBatch): Promise<Bf16[]> {
    const hashed = await this.#kernels.hash(this.#layout, this.#padId, batch);
    const found: Bf16[] = [];
    for (const [index, rows] of this.#layers.entries()) {
      const ids = layerIds(hashed, index, this.#layers.length, this.#layout.columns);
      found.push(await rows.lookup(ids));
    }
    return found;
  }

  close(): void {}
}
