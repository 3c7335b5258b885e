import type { RunnerLayer } from "../engram/engram_runner.ts";
import { checkGate } from "../engram/gate.ts";
import type { Bf16, GateWeights } from "../engram/kernels.ts";
import { checkProjection } from "../engram/project.ts";
import type { BufferLease } from "./buffer_lease.ts";
import { GateStream } from "./gate_stream.ts";
import type { GpuDevice } from "./gpu_device.ts";
import type { Dispatch } from "./kernel.ts";
import { Projection } from "./projection.ts";
import { restride } from "./restride.ts";

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

  /** Keys, value and gated stream of `count` tokens, in buffers of `lease`. */
  async piece(
    count: number,
    rows: GPUBuffer,
    stream: Bf16,
    mask: GPUBuffer | undefined,
    lease: BufferLease,
  ): Promise<LayerPiece> {
    const { inFeatures, outFeatures, weights: { copies, hidden } } = this;
    const { inStride, outStride } = this.#projection;
    const dispatches: Dispatch[] = [];
    const spread = async (from: number, to: number, values: GPUBuffer, label: string) => {
      if (from === to) return values;
      const out = await lease.buffer(2 * count * to, label);
      dispatches.push(restride(count, { from, to }, values, out));
      return out;
    };
    const padded = await spread(inFeatures, inStride, rows, "rows");
    const projected = await lease.buffer(2 * count * outStride, "kv");
    dispatches.push(...this.#projection.dispatches(padded, projected, count));
    const kv = await spread(outStride, outFeatures, projected, "kv");
    const gate = await lease.buffer(4 * count * copies, "gates");
    const output = await lease.buffer(2 * count * copies * hidden, "output");
    dispatches.push(...this.#gate.dispatches({
      tokens: count,
      stream: await lease.upload(stream, "stream"),
      kv,
      ...(mask && { mask }),
      gate,
      output,
    }));
    return { dispatches, kv, gate, output };
  }

  /** Frees the weights. */
  destroy(): void {
    this.#projection.destroy();
    this.#gate.destroy();
  }
}
