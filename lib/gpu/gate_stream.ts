import bf16 from "../../shaders/bf16.wgsl" with { type: "text" };
import gate from "../../shaders/gate.wgsl" with { type: "text" };
import gateApply from "../../shaders/gate_apply.wgsl" with { type: "text" };
import gateDots from "../../shaders/gate_dots.wgsl" with { type: "text" };
import type { GateWeights } from "../engram/kernels.ts";
import { widenBf16 } from "../table/bf16.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { type Dispatch, gridOf } from "./kernel.ts";
import { unroll } from "./unroll.ts";

/** Threads of a workgroup of the fast kernel: few, so that many workgroups overlap. */
const THREADS = 128;
/** Vectors of eight values that one of its threads can keep in registers. */
const MOST_VECTORS = 8;

/** What a gate reads and writes, all on the GPU. */
export interface GateBuffers {
  /** T. */
  readonly tokens: number;
  /** bf16 [T, copies, hidden]. */
  readonly stream: GPUBuffer;
  /** bf16 [T, copies + 1, hidden]. */
  readonly kv: GPUBuffer;
  /** Uint32 [T], 0 where the stream passes unchanged; absent keeps all. */
  readonly mask?: GPUBuffer;
  /** F32 [T, copies]. */
  readonly gate: GPUBuffer;
  /** bf16 [T, copies, hidden]. */
  readonly output: GPUBuffer;
}

/** One layer's gate with its weights on the GPU. */
export class GateStream {
  readonly #weights: GateWeights;
  /** q * k in float32 (exact: both have 8 significant bits). */
  readonly #scales: GPUBuffer;
  readonly #fast: boolean;
  readonly #threads: number;
  readonly #vectors: number;

  private constructor(
    weights: GateWeights,
    scales: GPUBuffer,
    fast: boolean,
    vectors: number,
    threads: number,
  ) {
    this.#weights = weights;
    this.#scales = scales;
    this.#fast = fast;
    this.#vectors = vectors;
    this.#threads = threads;
  }

  /** Puts `weights` on the GPU. */
  static async create(gpu: GpuDevice, weights: GateWeights): Promise<GateStream> {
    const k = widenBf16(weights.k);
    const products = widenBf16(weights.q).map((q, i) => q * k[i]);
    const eighths = weights.hidden / 8;
    const vectors = Math.min(MOST_VECTORS, Math.ceil(eighths / THREADS));
    const threads = Math.ceil(eighths / vectors / 32) * 32;
    const most = Math.min(
      gpu.limits.maxComputeInvocationsPerWorkgroup,
      gpu.limits.maxComputeWorkgroupSizeX,
      // Three sums a thread, 16 bytes.
      Math.floor(gpu.limits.maxComputeWorkgroupStorageSize / 16) - 16,
    );
    const fast = weights.hidden % 8 === 0 && threads <= most;
    return new GateStream(
      weights,
      await gpu.upload(products, "gate weights"),
      fast,
      vectors,
      threads,
    );
  }

  /** The dispatches of one batch. */
  dispatches(buffers: GateBuffers): Dispatch[] {
    const { hidden, copies, eps } = this.#weights;
    const { tokens, stream, kv, mask, gate: gates, output } = buffers;
    const masked = mask ? 1 : 0;
    // Without a mask any buffer takes its place.
    const masks = mask ?? this.#scales;
    const epsBits = new Uint32Array(Float32Array.of(eps).buffer)[0];
    if (this.#fast) {
      return [{
        kernel: {
          name: "gate",
          source: `${bf16}\n${unroll(gate, { VECTORS: this.#vectors, EIGHTS: this.#threads / 8 })}`,
          constants: { HIDDEN: hidden, COPIES: copies, THREADS: this.#threads },
        },
        uniforms: [tokens, masked, epsBits],
        buffers: [stream, kv, this.#scales, masks, gates, output],
        grid: gridOf(tokens * copies),
      }];
    }
    const constants = { HIDDEN: hidden, COPIES: copies };
    const words = Math.ceil(tokens * copies * hidden / 2);
    return [
      {
        kernel: { name: "gate_dots", source: `${bf16}\n${gateDots}`, constants },
        uniforms: [tokens * copies, masked, epsBits],
        buffers: [stream, kv, this.#scales, masks, gates],
        grid: gridOf(tokens * copies),
      },
      {
        kernel: { name: "gate_apply", source: `${bf16}\n${gateApply}`, constants },
        uniforms: [words, masked],
        buffers: [stream, kv, gates, masks, output],
        grid: gridOf(Math.ceil(words / 256)),
      },
    ];
  }

  /** Frees the weights. */
  destroy(): void {
    this.#scales.destroy();
  }
}
