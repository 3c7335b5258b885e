import type { Bf16 } from "../engram/kernels.ts";
import type { ModuleRows } from "../engram/module_rows.ts";
import { EngramError } from "../errors.ts";
import type { HashBatch } from "../hash/hash_batch.ts";
import type { Layout } from "../layout/layout.ts";
import type { RowStore } from "../table/row_store.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { copyBack } from "./copy_back.ts";
import { GatheredRows } from "./gathered_rows.ts";
import type { Download, GpuDevice } from "./gpu_device.ts";
import type { Dispatch } from "./kernel.ts";
import { inPieces } from "./pieces.ts";
import { ResidentRows } from "./resident_rows.ts";
import { ResidentStore } from "./resident_store.ts";
import type { RowBatch, RowPath } from "./row_path.ts";
import { prepareCachedBatch } from "./slot_mirrors.ts";

/** Full buffers of rows that a piece may take: models of many layers get smaller pieces. */
const MOST_BUFFERS = 8;

/** A path, and the layers (their places in the layout) whose rows take it. */
interface Path {
  readonly path: RowPath;
  readonly layers: readonly number[];
}

/** Hash and lookup of every layer on the GPU: of tables that are on it, and of rows that go up to it. */
export class GpuRows implements ModuleRows {
  /** Bytes of a token in the largest buffer. */
  readonly bytesPerToken: number;
  readonly #gpu: GpuDevice;
  readonly #layout: Layout;
  readonly #padId: number;
  /** Values of a token in each layer. */
  readonly #widths: readonly number[];
  readonly #paths: readonly Path[];

  private constructor(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    widths: readonly number[],
    paths: readonly Path[],
  ) {
    this.#gpu = gpu;
    this.#layout = layout;
    this.#padId = padId;
    this.#widths = widths;
    this.#paths = paths;
    const all = widths.reduce((sum, width) => sum + 2 * width, 0);
    this.bytesPerToken = Math.max(
      ...paths.map(({ path }) => path.bytesPerToken),
      all / MOST_BUFFERS,
    );
  }

  /**
   * The rows of `stores`, one for each layer of `layout`; they stay the caller's to close.
   *
   * @throws an {@linkcode EngramError} of kind `mismatch` where a table has too few rows.
   */
  static async create(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    stores: readonly RowStore[],
  ): Promise<GpuRows> {
    layout.layers.forEach(({ layerId, rows }, i) => {
      if (stores[i].rows >= rows) return;
      throw new EngramError(
        "mismatch",
        `Cannot look up in layer ${layerId}: its table has ${stores[i].rows} rows, wanted ${rows}`,
      );
    });
    const resident = stores.flatMap((store, i) => store instanceof ResidentStore ? [i] : []);
    const gathered = stores.flatMap((store, i) => store instanceof ResidentStore ? [] : [i]);
    const part = (layers: readonly number[]) => ({
      ...layout,
      layers: layers.map((i) => layout.layers[i]),
    });
    const paths: Path[] = [];
    if (gathered.length > 0) {
      const own = gathered.map((i) => stores[i]);
      const path = await GatheredRows.create(gpu, part(gathered), padId, own);
      paths.push({ path, layers: gathered });
    }
    if (resident.length > 0) {
      const own = resident.map((i) => stores[i] as ResidentStore);
      const path = await ResidentRows.create(gpu, part(resident), padId, own);
      paths.push({ path, layers: resident });
    }
    const widths = stores.map(({ encoding }) => layout.columns * encoding.headDim);
    return new GpuRows(gpu, layout, padId, widths, paths);
  }

  /** The rows of a batch, bf16 [T, columns, headDim] of each layer. */
  async run(batch: HashBatch): Promise<Bf16[]> {
    const tokens = batch.ids.length;
    const found = this.#widths.map((width) => new Uint16Array(tokens * width));
    using held = this.#gpu.lease();
    const begun = await this.begin(batch, held);
    await inPieces(this.#gpu, tokens, this.bytesPerToken, async (first, count) => {
      using lease = this.#gpu.lease();
      const { dispatches, rows } = await begun.piece(first, count, lease);
      const downloads = rows.map((buffer, i) =>
        copyBack(buffer, found[i], first * this.#widths[i], count * this.#widths[i])
      );
      await this.#gpu.submit(dispatches, downloads);
    });
    return found;
  }

  /** Begins a batch, with its row numbers where `ids` asks for them: see {@linkcode RowPath.begin}. */
  async begin(batch: HashBatch, lease: BufferLease, ids = false): Promise<RowBatch> {
    prepareCachedBatch(this.#layout, this.#padId, batch);
    const begun: { batch: RowBatch; layers: readonly number[] }[] = [];
    for (const { path, layers } of this.#paths) {
      begun.push({ batch: await path.begin(batch, lease, ids), layers });
    }
    return {
      ids(layer) {
        const { batch, layers } = begun.find(({ layers }) => layers.includes(layer))!;
        return batch.ids(layers.indexOf(layer));
      },
      async piece(first, count, lease) {
        const dispatches: Dispatch[] = [];
        const downloads: Download[] = [];
        const rows: GPUBuffer[] = [];
        for (const { batch, layers } of begun) {
          const piece = await batch.piece(first, count, lease);
          dispatches.push(...piece.dispatches);
          downloads.push(...piece.downloads);
          layers.forEach((layer, i) => rows[layer] = piece.rows[i]);
        }
        return { dispatches, rows, downloads };
      },
    };
  }

  /** Frees what is on the GPU; tables are their stores'. */
  close(): void {
    for (const { path } of this.#paths) path.close();
  }
}
