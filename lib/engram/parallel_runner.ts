import type { Layout } from "../layout/layout.ts";
import type { EngramRunner, RunnerInput, RunnerLayerOutput } from "./engram_runner.ts";
import type { Kernels } from "./kernels.ts";
import { layerIds } from "./layer_ids.ts";
import type { ParallelInput, ParallelLayer, ParallelOutput } from "./parallel_layer.ts";

/** How a {@linkcode ParallelRunner} runs. */
export interface ParallelRunnerOptions {
  /** Each rank computes its own tokens only, instead of all ranks all of them. */
  readonly sequence: boolean;
  /** For people: where the ranks' rows are read. */
  readonly place: string;
}

/** The module over tp × dp ranks, all in this process: what the ranks of a serving engine compute. */
export class ParallelRunner implements EngramRunner {
  /** For people: the device, the ranks, and where their rows are read. */
  readonly note: string;
  readonly #kernels: Kernels;
  readonly #layout: Layout;
  readonly #padId: number;
  readonly #layers: readonly ParallelLayer[];
  readonly #sequence: boolean;

  /** A runner of `layers` (in the layout's order) on `kernels`, which stay the caller's to close. */
  constructor(
    kernels: Kernels,
    layout: Layout,
    padId: number,
    layers: readonly ParallelLayer[],
    { sequence, place }: ParallelRunnerOptions,
  ) {
    this.#kernels = kernels;
    this.#layout = layout;
    this.#padId = padId;
    this.#layers = layers;
    this.#sequence = sequence;
    this.note = `${kernels.description}, ${layers[0]?.ranks ?? 0} ranks, rows from ${place}`;
  }

  /** Runs a batch; one result for each layer, in the layout's order. */
  async run(input: RunnerInput): Promise<RunnerLayerOutput[]> {
    const { batch, streams, mask, keep } = input;
    const { columns } = this.#layout;
    const hashed = await this.#kernels.hash(this.#layout, this.#padId, batch);
    const results: RunnerLayerOutput[] = [];
    for (const [index, layer] of this.#layers.entries()) {
      const ids = layerIds(hashed, index, this.#layers.length, columns);
      const given: ParallelInput = {
        tokens: batch.ids.length,
        ids,
        stream: streams[index],
        ...(mask && { mask }),
      };
      const { rows, kv, gate, output } = this.#sequence
        ? joined(await layer.forwardSequence(given), given.tokens)
        : await layer.forward(given);
      results.push({
        gate,
        output,
        ...(keep?.ids && { ids }),
        ...(keep?.rows && { rows }),
        ...(keep?.kv && { kv }),
      });
    }
    return results;
  }

  /** Nothing to free. */
  close(): void {}
}

/** The ranks' tokens one after another, without the padding at the end. */
function joined(ranks: readonly ParallelOutput[], tokens: number): ParallelOutput {
  const chunk = Math.ceil(tokens / ranks.length);
  const join = <T extends Uint16Array | Float32Array>(part: (rank: ParallelOutput) => T): T => {
    const first = part(ranks[0]);
    const width = chunk ? first.length / chunk : 0;
    const whole = new (first.constructor as new (length: number) => T)(
      chunk * width * ranks.length,
    );
    ranks.forEach((rank, i) => whole.set(part(rank) as ArrayLike<number>, i * chunk * width));
    return whole.subarray(0, tokens * width) as T;
  };
  return {
    rows: join(({ rows }) => rows),
    kv: join(({ kv }) => kv),
    gate: join(({ gate }) => gate),
    output: join(({ output }) => output),
  };
}
