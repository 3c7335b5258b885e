import { layerIds } from "../engram/layer_ids.ts";
import type { HashBatch } from "../hash/hash_batch.ts";
import { NgramHasher } from "../hash/ngram_hasher.ts";
import type { Layout } from "../layout/layout.ts";
import { distinctRows } from "../table/distinct_rows.ts";
import type { RowStore } from "../table/row_store.ts";
import type { BufferLease } from "./buffer_lease.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { GpuTable, strideOf } from "./gpu_table.ts";
import type { Dispatch } from "./kernel.ts";
import type { RowBatch, RowPath, RowPiece } from "./row_path.ts";

/**
 * Rows of tables that are not on the GPU: tokens are hashed on the host, which reads each row they
 * need once. It goes up as the record it is, and is decoded on the GPU.
 */
export class GatheredRows implements RowPath {
  readonly bytesPerToken: number;
  readonly #gpu: GpuDevice;
  readonly #columns: number;
  readonly #stores: readonly RowStore[];
  readonly #hasher: NgramHasher;
  /** Uint32 [columns]: all of them. */
  readonly #local: GPUBuffer;

  private constructor(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    stores: readonly RowStore[],
    local: GPUBuffer,
  ) {
    this.#gpu = gpu;
    this.#columns = layout.columns;
    this.#stores = stores;
    this.#hasher = new NgramHasher(layout, padId);
    this.#local = local;
    this.bytesPerToken = layout.columns * Math.max(
      ...stores.map(({ encoding }) => Math.max(2 * encoding.headDim, strideOf(encoding))),
    );
  }

  /** The rows of `stores`, one for each layer of `layout`. */
  static async create(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    stores: readonly RowStore[],
  ): Promise<GatheredRows> {
    const columns = Uint32Array.from({ length: layout.columns }, (_, column) => column);
    return new GatheredRows(gpu, layout, padId, stores, await gpu.upload(columns, "columns"));
  }

  // deno-lint-ignore require-await -- as the seam is
  async begin(batch: HashBatch): Promise<RowBatch> {
    const layers = this.#stores.length;
    const hashed = this.#hasher.hash(batch);
    const ids = this.#stores.map((_, layer) => layerIds(hashed, layer, layers, this.#columns));
    return {
      ids: (layer) => ids[layer],
      piece: (first, count, lease) => this.#piece(ids, first, count, lease),
    };
  }

  close(): void {
    this.#local.destroy();
  }

  async #piece(
    ids: readonly Int32Array[],
    first: number,
    count: number,
    lease: BufferLease,
  ): Promise<RowPiece> {
    const columns = this.#columns;
    const dispatches: Dispatch[] = [];
    const rows: GPUBuffer[] = [];
    // The rows of all layers are read at once, before anything is put on the GPU.
    const gathered = await Promise.all(
      this.#stores.map((store, layer) =>
        gather(store, ids[layer].subarray(first * columns, (first + count) * columns))
      ),
    );
    for (const [layer, { encoding }] of this.#stores.entries()) {
      const { records, places } = gathered[layer];
      const table = await GpuTable.lend(this.#gpu, lease, encoding, records);
      const out = await lease.buffer(2 * count * columns * encoding.headDim, "rows");
      const lookup = table.lookup({
        ids: await lease.upload(places, "row numbers"),
        columns,
        local: this.#local,
        localCount: columns,
        all: true,
        tokens: count,
        out,
      });
      dispatches.push(...lookup);
      rows.push(out);
    }
    return { dispatches, rows, downloads: [] };
  }
}

/** The records that `ids` ask for, each once, and where each id's stands among them. */
async function gather(store: RowStore, ids: Int32Array) {
  const { rows, places } = distinctRows(ids);
  const records = new Uint8Array(rows.length * store.encoding.recordBytes);
  await store.readRecords(rows, records);
  return { records, places };
}
