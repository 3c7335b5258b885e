import { layerIds } from "../engram/layer_ids.ts";
import type { HashBatch } from "../hash/hash_batch.ts";
import type { Layout } from "../layout/layout.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { copyBack } from "./copy_back.ts";
import { uploadBatch } from "./gpu_batch.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { HashIds } from "./hash_ids.ts";
import type { Dispatch } from "./kernel.ts";
import type { ResidentStore } from "./resident_store.ts";
import type { RowBatch, RowPath, RowPiece } from "./row_path.ts";

/** Rows of tables on the GPU: only the tokens go up, and row numbers never leave it. */
export class ResidentRows implements RowPath {
  readonly bytesPerToken: number;
  readonly #layout: Layout;
  readonly #padId: number;
  readonly #stores: readonly ResidentStore[];
  readonly #hash: HashIds;
  /** Uint32 [columns] of each layer: its own among the columns of all layers. */
  readonly #local: readonly GPUBuffer[];

  private constructor(
    layout: Layout,
    padId: number,
    stores: readonly ResidentStore[],
    hash: HashIds,
    local: readonly GPUBuffer[],
  ) {
    this.#layout = layout;
    this.#padId = padId;
    this.#stores = stores;
    this.#hash = hash;
    this.#local = local;
    const widest = Math.max(...stores.map(({ encoding: { headDim } }) => headDim));
    this.bytesPerToken = Math.max(hash.bytesPerToken, 2 * layout.columns * widest);
  }

  /** The rows of `stores`, one for each layer of `layout`. */
  static async create(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    stores: readonly ResidentStore[],
  ): Promise<ResidentRows> {
    const { columns } = layout;
    const local: GPUBuffer[] = [];
    for (let first = 0; first < stores.length * columns; first += columns) {
      const own = Uint32Array.from({ length: columns }, (_, column) => first + column);
      local.push(await gpu.upload(own, "columns"));
    }
    return new ResidentRows(layout, padId, stores, await HashIds.create(gpu, layout), local);
  }

  async begin(batch: HashBatch, lease: BufferLease, ids: boolean): Promise<RowBatch> {
    const { columns } = this.#layout;
    const layers = this.#stores.length;
    const width = layers * columns;
    const uploaded = await uploadBatch(lease, batch);
    const kept = new Int32Array(ids ? batch.ids.length * width : 0);
    return {
      ids: (layer) => layerIds(kept, layer, layers, columns),
      piece: async (first, count, lease): Promise<RowPiece> => {
        const hashed = await lease.buffer(4 * count * width, "row numbers");
        const dispatches: Dispatch[] = [
          this.#hash.dispatch(uploaded, this.#padId, hashed, first, count),
        ];
        const rows: GPUBuffer[] = [];
        for (const [layer, store] of this.#stores.entries()) {
          const out = await lease.buffer(2 * count * columns * store.encoding.headDim, "rows");
          const lookup = await store.lookup({
            ids: hashed,
            columns: width,
            local: this.#local[layer],
            localCount: columns,
            all: layers === 1,
            tokens: count,
            out,
          });
          dispatches.push(...lookup);
          rows.push(out);
        }
        const downloads = ids ? [copyBack(hashed, kept, first * width, count * width)] : [];
        return { dispatches, rows, downloads };
      },
    };
  }

  close(): void {
    this.#hash.destroy();
    for (const buffer of this.#local) buffer.destroy();
  }
}
