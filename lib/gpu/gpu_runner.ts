import type {
  EngramRunner,
  Kept,
  RunnerInput,
  RunnerLayer,
  RunnerLayerOutput,
} from "../engram/engram_runner.ts";
import { checkGate } from "../engram/gate.ts";
import type { Bf16 } from "../engram/kernels.ts";
import { EngramError } from "../errors.ts";
import type { Layout } from "../layout/layout.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { copyBack } from "./copy_back.ts";
import type { Download, GpuDevice } from "./gpu_device.ts";
import { GpuRows } from "./gpu_rows.ts";
import type { Dispatch } from "./kernel.ts";
import { LayerModule } from "./layer_module.ts";
import { inPieces, pieceTokens } from "./pieces.ts";
import type { RowBatch } from "./row_path.ts";

/** Full buffers that a piece may take: models of many layers get smaller pieces. */
const MOST_BUFFERS = 16;

/** One piece of a batch: its kernels, and what they make that is copied back. */
interface Piece {
  readonly dispatches: readonly Dispatch[];
  readonly downloads: readonly Download[];
}

/** A layer's results for a whole batch; what is not kept has no room in them. */
type Results = Required<Omit<RunnerLayerOutput, "ids">>;

/**
 * The module with everything on the GPU: a batch goes up once, passes through hash, lookup, projection
 * and gate of every layer without coming back between, and what was asked for is copied back. Batches
 * too large for the device's buffers are cut in pieces.
 */
export class GpuRunner implements EngramRunner {
  /** For people. */
  readonly note: string;
  readonly #gpu: GpuDevice;
  readonly #rows: GpuRows;
  readonly #layers: readonly LayerModule[];

  private constructor(
    gpu: GpuDevice,
    note: string,
    rows: GpuRows,
    layers: readonly LayerModule[],
  ) {
    this.#gpu = gpu;
    this.note = note;
    this.#rows = rows;
    this.#layers = layers;
  }

  /** Puts the weights of `layers` (in the layout's order) on `gpu`, which stays the caller's to close. */
  static async create(
    gpu: GpuDevice,
    layout: Layout,
    padId: number,
    layers: readonly RunnerLayer[],
  ): Promise<GpuRunner> {
    const stores = layers.map(({ store }) => store);
    const rows = await GpuRows.create(gpu, layout, padId, stores);
    const modules: LayerModule[] = [];
    for (const [i, layer] of layers.entries()) {
      const { projection: { inFeatures }, store: { encoding: { headDim } } } = layer;
      if (layout.columns * headDim !== inFeatures) {
        throw new EngramError(
          "mismatch",
          `Cannot run layer ${layout.layers[i].layerId}: its rows are ${layout.columns} × ` +
            `${headDim} values, wanted ${inFeatures}, as its projection takes`,
        );
      }
      modules.push(await LayerModule.create(gpu, layer));
    }
    const places = [...new Set(stores.map(({ place }) => place))];
    return new GpuRunner(gpu, `${gpu.name}, rows from ${places.join(", ")}`, rows, modules);
  }

  async run(input: RunnerInput): Promise<RunnerLayerOutput[]> {
    const { batch, keep = {} } = input;
    const tokens = this.#check(input);
    const results = this.#layers.map((layer) => room(layer, tokens, keep));
    using held = this.#gpu.lease();
    const rows = await this.#rows.begin(batch, held, keep.ids);
    await inPieces(this.#gpu, tokens, this.#bytesPerToken, async (first, count) => {
      using lease = this.#gpu.lease();
      const { dispatches, downloads } = await this.#piece(
        input,
        rows,
        results,
        first,
        count,
        lease,
      );
      await this.#gpu.submit(dispatches, downloads);
    });
    return results.map(({ gate, output, rows: kept, kv }, layer) => ({
      gate,
      output,
      ...(keep.ids && { ids: rows.ids(layer) }),
      ...(keep.rows && { rows: kept }),
      ...(keep.kv && { kv }),
    }));
  }

  /**
   * The dispatches of a batch that is one piece, with its data in buffers of `lease`: to be timed by
   * the GPU's clock.
   */
  async dispatches(input: RunnerInput, lease: BufferLease): Promise<readonly Dispatch[]> {
    const tokens = this.#check(input);
    const rows = await this.#rows.begin(input.batch, lease);
    const results = this.#layers.map((layer) => room(layer, tokens, {}));
    return (await this.#piece(input, rows, results, 0, tokens, lease)).dispatches;
  }

  /** Frees the weights; tables are their stores'. */
  close(): void {
    this.#rows.close();
    for (const layer of this.#layers) layer.destroy();
  }

  /** Tokens of a piece at most. */
  get pieceTokens(): number {
    return pieceTokens(this.#gpu, this.#bytesPerToken);
  }

  get #bytesPerToken(): number {
    const largest = this.#layers.map(({ bytesPerToken }) => bytesPerToken);
    const all = this.#layers.reduce((sum, { allBytesPerToken }) => sum + allBytesPerToken, 0);
    return Math.max(this.#rows.bytesPerToken, ...largest, all / MOST_BUFFERS);
  }

  /** Checks the arrays' lengths; how many tokens there are. */
  #check({ batch: { ids }, streams, mask }: RunnerInput): number {
    if (streams.length !== this.#layers.length) {
      throw new EngramError(
        "usage",
        `Cannot run ${this.#layers.length} layers: found ${streams.length} streams`,
      );
    }
    this.#layers.forEach(({ weights }, i) =>
      checkGate(weights, { tokens: ids.length, stream: streams[i], ...(mask && { mask }) })
    );
    return ids.length;
  }

  async #piece(
    { streams, mask, keep = {} }: RunnerInput,
    batch: RowBatch,
    results: readonly Results[],
    first: number,
    count: number,
    lease: BufferLease,
  ): Promise<Piece> {
    const { rows, ...piece } = await batch.piece(first, count, lease);
    const dispatches = [...piece.dispatches];
    const downloads = [...piece.downloads];
    const masks = mask &&
      await lease.upload(Uint32Array.from(mask.subarray(first, first + count)), "mask");
    for (const [i, layer] of this.#layers.entries()) {
      const { inFeatures, outFeatures, weights: { copies, hidden } } = layer;
      const width = copies * hidden;
      const stream = streams[i].subarray(first * width, (first + count) * width);
      const made = await layer.piece(count, rows[i], stream, masks, lease);
      dispatches.push(...made.dispatches);
      const { gate, output, rows: keptRows, kv } = results[i];
      const back = (buffer: GPUBuffer, whole: Float32Array | Bf16, width: number) =>
        downloads.push(copyBack(buffer, whole, first * width, count * width));
      back(made.gate, gate, copies);
      back(made.output, output, width);
      if (keep.rows) back(rows[i], keptRows, inFeatures);
      if (keep.kv) back(made.kv, kv, outFeatures);
    }
    return { dispatches, downloads };
  }
}

/** Room for a layer's results. */
function room(
  { inFeatures, outFeatures, weights: { copies, hidden } }: LayerModule,
  tokens: number,
  keep: Kept,
): Results {
  return {
    gate: new Float32Array(tokens * copies),
    output: new Uint16Array(tokens * copies * hidden),
    rows: new Uint16Array(keep.rows ? tokens * inFeatures : 0),
    kv: new Uint16Array(keep.kv ? tokens * outFeatures : 0),
  };
}
