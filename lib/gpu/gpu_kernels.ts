import { EngramError } from "../errors.ts";
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
import { GateStream } from "./gate_stream.ts";
import { uploadBatch } from "./gpu_batch.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { GpuTable } from "./gpu_table.ts";
import { HashIds } from "./hash_ids.ts";
import { gatheredTable } from "./gathered_table.ts";
import { Lru } from "./lru.ts";
import { cutRows, padRows, Projection } from "./projection.ts";
import { relayRows } from "./relay_rows.ts";
import { prepareCachedBatch, SlotMirrors } from "./slot_mirrors.ts";

/** Weights and tables kept on the GPU at a time. */
const MOST_WEIGHTS = 64;
const MOST_TABLES = 8;
/** A result is made in pieces of about this many bytes: small enough for every device's buffers. */
const PIECE_BYTES = 2 ** 26;

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
  readonly #tooLarge = new WeakSet<KernelTable>();

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
    const result = new Int32Array(tokens * plan.bytesPerToken / 4);
    if (cache && tokens > 0) await this.#slots.remember(this.gpu, batch, cache);
    if (result.length === 0) return result;
    const slots = cache ? await this.#slots.of(this.gpu, cache) : undefined;
    const uploaded = await uploadBatch(this.gpu, batch, slots);
    await this.#pieces(tokens, plan.bytesPerToken, async (first, count) => {
      const size = count * plan.bytesPerToken;
      const out = await this.gpu.buffer(size, "hash ids");
      const [bytes] = await this.gpu.submit(
        [plan.dispatch(uploaded, padId, out, first, count)],
        [{ buffer: out, size }],
      );
      out.destroy();
      result.set(new Int32Array(bytes.buffer), first * plan.bytesPerToken / 4);
    });
    uploaded.destroy();
    return result;
  }

  /** bf16 [T, local.length, headDim]. A table with no room on the GPU is gathered on the host. */
  async lookup(table: KernelTable, input: LookupInput): Promise<Bf16> {
    checkLookup(table, input);
    const { tokens, columns, ids, local } = input;
    const width = local.length * table.encoding.headDim;
    const result = new Uint16Array(tokens * width);
    if (result.length === 0) return result;
    const resident = await this.#tableOf(table);
    const columnsBuffer = await this.gpu.upload(Uint32Array.from(local), "columns");
    // An even number of values, so that pieces are whole words.
    await this.#pieces(tokens, 2 * width, async (first, count) => {
      const some = ids.subarray(first * columns, (first + count) * columns);
      const gathered = resident ? undefined : gatheredTable(table, some);
      const held = resident ?? await GpuTable.upload(this.gpu, gathered!.table);
      const idsBuffer = await this.gpu.upload(gathered?.ids ?? some, "row numbers");
      const size = 2 * count * width;
      const out = await this.gpu.buffer(size, "rows");
      const [bytes] = await this.gpu.submit(
        held.lookup({
          ids: idsBuffer,
          columns,
          local: columnsBuffer,
          localCount: local.length,
          all: local.length === columns && local.every((column, i) => column === i),
          tokens: count,
          out,
        }),
        [{ buffer: out, size }],
      );
      for (const buffer of [idsBuffer, out]) buffer.destroy();
      if (!resident) held.destroy();
      result.set(new Uint16Array(bytes.buffer), first * width);
    });
    columnsBuffer.destroy();
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
    await this.#pieces(tokens, 2 * Math.max(inStride, outStride), async (first, count) => {
      const some = rows.subarray(first * inFeatures, (first + count) * inFeatures);
      const input = await this.gpu.upload(padRows(some, count, inFeatures, inStride), "rows");
      const size = 2 * count * outStride;
      const out = await this.gpu.buffer(size, "kv");
      const [bytes] = await this.gpu.submit(
        projection.dispatches(input, out, count),
        [{ buffer: out, size }],
      );
      for (const buffer of [input, out]) buffer.destroy();
      const padded = new Uint16Array(bytes.buffer);
      result.set(cutRows(padded, count, outStride, outFeatures), first * outFeatures);
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
    await this.#pieces(tokens, 2 * kvWidth, async (first, count) => {
      const end = first + count;
      const buffers = {
        tokens: count,
        stream: await this.gpu.upload(stream.subarray(first * width, end * width), "stream"),
        kv: await this.gpu.upload(kv.subarray(first * kvWidth, end * kvWidth), "kv"),
        gate: await this.gpu.buffer(4 * count * copies, "gates"),
        output: await this.gpu.buffer(2 * count * width, "output"),
        ...(mask && {
          mask: await this.gpu.upload(Uint32Array.from(mask.subarray(first, end)), "mask"),
        }),
      };
      const [gateBytes, outputBytes] = await this.gpu.submit(gate.dispatches(buffers), [
        { buffer: buffers.gate, size: 4 * count * copies },
        { buffer: buffers.output, size: 2 * count * width },
      ]);
      for (const buffer of Object.values(buffers)) {
        if (typeof buffer !== "number") buffer.destroy();
      }
      gates.set(new Float32Array(gateBytes.buffer), first * copies);
      output.set(new Uint16Array(outputBytes.buffer), first * width);
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
    await this.#pieces(real, 2 * Math.max(width, tp * share), async (first, count) => {
      const some = new Uint16Array(tp * count * share);
      for (let owner = 0; owner < tp; owner++) {
        const at = (owner * tokens + from + first) * share;
        some.set(gathered.subarray(at, at + count * share), owner * count * share);
      }
      const shares = await this.gpu.upload(some, "gathered rows");
      const size = 2 * count * width;
      const out = await this.gpu.buffer(size, "re-laid rows");
      const sizes = { tp, tokens: count, localColumns, columns, headDim };
      const [bytes] = await this.gpu.submit(
        [relayRows(sizes, 0, count, shares, out)],
        [{ buffer: out, size }],
      );
      for (const buffer of [shares, out]) buffer.destroy();
      result.set(new Uint16Array(bytes.buffer), first * width);
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

  /** The table on the GPU, or undefined where it has no room. */
  async #tableOf(table: KernelTable): Promise<GpuTable | undefined> {
    if (this.#tooLarge.has(table)) return undefined;
    try {
      return await this.#tables.get(table, () => GpuTable.upload(this.gpu, table));
    } catch (error) {
      if (!(error instanceof EngramError) || error.kind !== "unavailable") throw error;
      this.#tooLarge.add(table);
      return undefined;
    }
  }

  /** Runs `work` over pieces of `tokens` tokens whose results, `bytes` each, fit a buffer; two at a time. */
  async #pieces(
    tokens: number,
    bytes: number,
    work: (first: number, count: number) => Promise<void>,
  ): Promise<void> {
    // Even, so that no word of 16-bit values is shared by two pieces.
    const most = Math.max(2, Math.floor(PIECE_BYTES / bytes / 2) * 2);
    const running: Promise<void>[] = [];
    for (let first = 0; first < tokens; first += most) {
      if (running.length === 2) await running.shift();
      running.push(work(first, Math.min(most, tokens - first)));
    }
    await Promise.all(running);
  }
}
