import { checkGate } from "../engram/gate.ts";
import type {
  Bf16,
  GateInput,
  GateOutput,
  GateWeights,
  Kernels,
  KernelTable,
  LookupInput,
  ProjectionWeights,
  RelayInput,
} from "../engram/kernels.ts";
import { checkLookup } from "../engram/lookup.ts";
import { checkProjection } from "../engram/project.ts";
import { checkRelay } from "../engram/relay.ts";
import type { HashBatch } from "../hash/hash_batch.ts";
import type { SlotCache } from "../hash/slot_cache.ts";
import type { Layout } from "../layout/layout.ts";
import type { RowEncoding } from "../table/row_store.ts";
import { GateStream } from "./gate_stream.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { copyBack } from "./copy_back.ts";
import { uploadBatch } from "./gpu_batch.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { GpuTable, strideOf } from "./gpu_table.ts";
import { HashIds } from "./hash_ids.ts";
import { Lru } from "./lru.ts";
import { inPieces } from "./pieces.ts";
import { projectRows } from "./project_rows.ts";
import { Projection } from "./projection.ts";
import { relayRows } from "./relay_rows.ts";
import { prepareCachedBatch, SlotMirrors } from "./slot_mirrors.ts";

/** Weights and tables kept on the GPU at a time. */
const MOST_WEIGHTS = 64;
const MOST_TABLES = 8;

/** The module's kernels on a GPU through WebGPU; weights and tables stay there between calls. */
export class GpuKernels implements Kernels {
  /** Runs on a GPU. */
  readonly device = "gpu";
  /** The adapter's name. */
  readonly description: string;
  /** The device, for those who keep more than results on it. */
  readonly gpu: GpuDevice;
  readonly #hashes = new Lru<Layout, HashIds>(MOST_WEIGHTS);
  readonly #tables = new Lru<KernelTable, GpuTable>(MOST_TABLES);
  readonly #projections = new Lru<ProjectionWeights, Projection>(MOST_WEIGHTS);
  readonly #gates = new Lru<GateWeights, GateStream>(MOST_WEIGHTS);
  readonly #slots = new SlotMirrors();

  /** Takes over `gpu`. */
  constructor(gpu: GpuDevice) {
    this.gpu = gpu;
    this.description = gpu.name;
  }

  /** Rows hashed for each token, Int32 [T, layers, columns]. */
  async hash(
    layout: Layout,
    padId: number,
    batch: HashBatch,
    cache?: SlotCache,
  ): Promise<Int32Array> {
    if (cache && !cache.bound) return new Int32Array(0);
    prepareCachedBatch(layout, padId, batch, cache);
    const tokens = batch.ids.length;
    const plan = await this.hashOf(layout);
    const width = plan.bytesPerToken / 4;
    const result = new Int32Array(tokens * width);
    if (cache && tokens > 0) await this.#slots.remember(this.gpu, batch, cache);
    if (result.length === 0) return result;
    const slots = cache ? await this.#slots.of(this.gpu, cache) : undefined;
    using held = this.gpu.lease();
    const uploaded = await uploadBatch(held, batch, slots);
    await this.#pieces(tokens, plan.bytesPerToken, async (first, count, lease) => {
      const out = await lease.buffer(count * plan.bytesPerToken, "hash ids");
      await this.gpu.submit(
        [plan.dispatch(uploaded, padId, out, first, count)],
        [copyBack(out, result, first * width, count * width)],
      );
    });
    return result;
  }

  /** bf16 [T, local.length, headDim]. */
  async lookup(table: KernelTable, input: LookupInput): Promise<Bf16> {
    checkLookup(table, input);
    const { tokens, columns, ids, local } = input;
    const width = local.length * table.encoding.headDim;
    const result = new Uint16Array(tokens * width);
    if (result.length === 0) return result;
    const held = await this.#tables.get(table, () => GpuTable.upload(this.gpu, table));
    const all = local.length === columns && local.every((column, i) => column === i);
    await this.#pieces(tokens, 2 * width, async (first, count, lease) => {
      const out = await lease.buffer(2 * count * width, "rows");
      const some = ids.subarray(first * columns, (first + count) * columns);
      const lookup = held.lookup({
        ids: await lease.upload(some, "row numbers"),
        columns,
        local: await lease.upload(Uint32Array.from(local), "columns"),
        localCount: local.length,
        all,
        tokens: count,
        out,
      });
      await this.gpu.submit(lookup, [copyBack(out, result, first * width, count * width)]);
    });
    return result;
  }

  /** bf16 [n, headDim] of whole records. */
  async decode(encoding: RowEncoding, records: Uint8Array): Promise<Bf16> {
    const { headDim, recordBytes } = encoding;
    const rows = records.length / recordBytes;
    const result = new Uint16Array(rows * headDim);
    await this.#pieces(
      rows,
      Math.max(2 * headDim, strideOf(encoding)),
      async (first, count, lease) => {
        const some = records.subarray(first * recordBytes, (first + count) * recordBytes);
        const table = await GpuTable.lend(this.gpu, lease, encoding, some);
        const out = await lease.buffer(2 * count * headDim, "rows");
        const lookup = table.lookup({
          ids: await lease.upload(
            Int32Array.from({ length: count }, (_, row) => row),
            "row numbers",
          ),
          columns: 1,
          local: await lease.upload(Uint32Array.of(0), "columns"),
          localCount: 1,
          all: true,
          tokens: count,
          out,
        });
        await this.gpu.submit(lookup, [copyBack(out, result, first * headDim, count * headDim)]);
      },
    );
    return result;
  }

  /** bf16 [T, outFeatures] of bf16 rows [T, inFeatures]. */
  async project(weights: ProjectionWeights, rows: Bf16, tokens: number): Promise<Bf16> {
    checkProjection(weights, rows, tokens);
    const { inFeatures, outFeatures } = weights;
    const result = new Uint16Array(tokens * outFeatures);
    if (result.length === 0) return result;
    const projection = await this.projectionOf(weights);
    const { inStride, outStride } = projection;
    await this.#pieces(tokens, 2 * Math.max(inStride, outStride), async (first, count, lease) => {
      const some = rows.subarray(first * inFeatures, (first + count) * inFeatures);
      const input = await lease.upload(some, "rows");
      const { dispatches, kv } = await projectRows(projection, weights, input, count, lease);
      await this.gpu.submit(
        dispatches,
        [copyBack(kv, result, first * outFeatures, count * outFeatures)],
      );
    });
    return result;
  }

  /** The gate and the gated stream. */
  async gate(weights: GateWeights, input: GateInput): Promise<GateOutput> {
    checkGate(weights, input);
    const { hidden, copies } = weights;
    const { tokens, stream, kv, mask } = input;
    const gates = new Float32Array(tokens * copies);
    const output = new Uint16Array(tokens * copies * hidden);
    if (output.length === 0) return { gate: gates, output };
    const gate = await this.gateOf(weights);
    const width = copies * hidden;
    const kvWidth = width + hidden;
    await this.#pieces(tokens, 2 * kvWidth, async (first, count, lease) => {
      const end = first + count;
      const gateOut = await lease.buffer(4 * count * copies, "gates");
      const streamOut = await lease.buffer(2 * count * width, "output");
      const dispatches = gate.dispatches({
        tokens: count,
        stream: await lease.upload(stream.subarray(first * width, end * width), "stream"),
        kv: await lease.upload(kv.subarray(first * kvWidth, end * kvWidth), "kv"),
        gate: gateOut,
        output: streamOut,
        ...(mask && {
          mask: await lease.upload(Uint32Array.from(mask.subarray(first, end)), "mask"),
        }),
      });
      await this.gpu.submit(dispatches, [
        copyBack(gateOut, gates, first * copies, count * copies),
        copyBack(streamOut, output, first * width, count * width),
      ]);
    });
    return { gate: gates, output };
  }

  /** bf16 [chunk, columns, headDim], chunk = ceil(T / tp); tokens past the end are zeros. */
  async relay(input: RelayInput): Promise<Bf16> {
    checkRelay(input);
    const { tp, rank, tokens, localColumns, columns, headDim, gathered } = input;
    const chunk = Math.ceil(tokens / tp);
    const width = columns * headDim;
    const share = localColumns * headDim;
    const result = new Uint16Array(chunk * width);
    const from = Math.min(rank * chunk, tokens);
    const real = Math.min(from + chunk, tokens) - from;
    if (real * width === 0) return result;
    // Only this rank's tokens travel: the same tokens of every rank's share, side by side.
    await this.#pieces(real, 2 * Math.max(width, tp * share), async (first, count, lease) => {
      const some = new Uint16Array(tp * count * share);
      for (let owner = 0; owner < tp; owner++) {
        const at = (owner * tokens + from + first) * share;
        some.set(gathered.subarray(at, at + count * share), owner * count * share);
      }
      const shares = await lease.upload(some, "gathered rows");
      const out = await lease.buffer(2 * count * width, "re-laid rows");
      const sizes = { tp, tokens: count, localColumns, columns, headDim };
      await this.gpu.submit(
        [relayRows(sizes, 0, count, shares, out)],
        [copyBack(out, result, first * width, count * width)],
      );
    });
    return result;
  }

  /** Frees the device and all that is on it. */
  close(): void {
    for (const kept of [this.#tables, this.#projections, this.#gates, this.#hashes]) kept.clear();
    this.gpu.close();
  }

  /** The hash of `layout`, with its constants on the GPU. */
  async hashOf(layout: Layout): Promise<HashIds> {
    return await this.#hashes.get(layout, () => HashIds.create(this.gpu, layout));
  }

  /** The projection of `weights`, on the GPU. */
  async projectionOf(weights: ProjectionWeights): Promise<Projection> {
    return await this.#projections.get(weights, () => Projection.create(this.gpu, weights));
  }

  /** The gate of `weights`, on the GPU. */
  async gateOf(weights: GateWeights): Promise<GateStream> {
    return await this.#gates.get(weights, () => GateStream.create(this.gpu, weights));
  }

  /** Runs `work` over pieces of `tokens` tokens, each with buffers of its own. */
  async #pieces(
    tokens: number,
    bytes: number,
    work: (first: number, count: number, lease: BufferLease) => Promise<void>,
  ): Promise<void> {
    await inPieces(this.gpu, tokens, bytes, async (first, count) => {
      using lease = this.gpu.lease();
      await work(first, count, lease);
    });
  }
}
