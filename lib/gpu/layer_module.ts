import type { RunnerLayer } from "../engram/engram_runner.ts";
import { checkGate } from "../engram/gate.ts";
import type { Bf16, GateWeights } from "../engram/kernels.ts";
import { checkProjection } from "../engram/project.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { GateStream } from "./gate_stream.ts";
import type { GpuDevice } from "./gpu_device.ts";
import type { Dispatch } from "./kernel.ts";
import { projectRows } from "./project_rows.ts";
import { Projection } from "./projection.ts";

/** What one layer's projection and gate make, once the dispatches have run. */
export interface LayerPiece {
  /** What makes them. */
  readonly dispatches: readonly Dispatch[];
  /** bf16 [count, outFeatures]. */
  readonly kv: GPUBuffer;
  /** F32 [count, copies]. */
  readonly gate: GPUBuffer;
  /** bf16 [count, copies, hidden]. */
  readonly output: GPUBuffer;
}

/** One layer's projection and gate, with their weights on the GPU. */
export class LayerModule {
  /** Values of a token's rows: columns * headDim. */
  readonly inFeatures: number;
  /** Values of a token's keys and value. */
  readonly outFeatures: number;
  /** The gate's sizes and weights. */
  readonly weights: GateWeights;
  readonly #projection: Projection;
  readonly #gate: GateStream;

  private constructor(layer: RunnerLayer, projection: Projection, gate: GateStream) {
    this.inFeatures = layer.projection.inFeatures;
    this.outFeatures = layer.projection.outFeatures;
    this.weights = layer.gate;
    this.#projection = projection;
    this.#gate = gate;
  }

  /** Puts a layer's weights on the GPU. */
  static async create(gpu: GpuDevice, layer: RunnerLayer): Promise<LayerModule> {
    const none = new Uint16Array(0);
    checkProjection(layer.projection, none, 0);
    checkGate(layer.gate, { tokens: 0, stream: none });
    const projection = await Projection.create(gpu, layer.projection);
    return new LayerModule(layer, projection, await GateStream.create(gpu, layer.gate));
  }

  /** Bytes of a token in the largest buffer. */
  get bytesPerToken(): number {
    return 2 * Math.max(this.#projection.inStride, this.#projection.outStride);
  }

  /** Bytes of a token in all buffers. */
  get allBytesPerToken(): number {
    const { copies, hidden } = this.weights;
    return 2 * (this.#projection.inStride + this.#projection.outStride + 2 * copies * hidden);
  }

  /** Keys, value and gated stream of `count` tokens, in buffers of `lease`. */
  async piece(
    count: number,
    rows: GPUBuffer,
    stream: Bf16,
    mask: GPUBuffer | undefined,
    lease: BufferLease,
  ): Promise<LayerPiece> {
    const { copies, hidden } = this.weights;
    const { kv, dispatches } = await projectRows(this.#projection, this, rows, count, lease);
    const gate = await lease.buffer(4 * count * copies, "gates");
    const output = await lease.buffer(2 * count * copies * hidden, "output");
    const gating = this.#gate.dispatches({
      tokens: count,
      stream: await lease.upload(stream, "stream"),
      kv,
      ...(mask && { mask }),
      gate,
      output,
    });
    return { dispatches: [...dispatches, ...gating], kv, gate, output };
  }

  /** Frees the weights. */
  destroy(): void {
    this.#projection.destroy();
    this.#gate.destroy();
  }
}
