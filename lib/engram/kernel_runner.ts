import type { Layout } from "../layout/layout.ts";
import type { EngramRunner, RunnerInput, RunnerLayer, RunnerLayerOutput } from "./engram_runner.ts";
import type { Bf16, Kernels } from "./kernels.ts";

/**
 * The module composed of one device's kernels, with every result passing through host memory: the
 * plain twin of the runner that keeps its data on the GPU, and the one used on the CPU.
 */
export class KernelRunner implements EngramRunner {
  readonly note: string;
  readonly #kernels: Kernels;
  readonly #layout: Layout;
  readonly #padId: number;
  readonly #layers: readonly RunnerLayer[];

  /** A runner of `layers` (in the layout's order) on `kernels`, which stay the caller's to close. */
  constructor(kernels: Kernels, layout: Layout, padId: number, layers: readonly RunnerLayer[]) {
    this.#kernels = kernels;
    this.#layout = layout;
    this.#padId = padId;
    this.#layers = layers;
    this.note = `${kernels.description}, rows from ${
      [...new Set(layers.map((layer) => layer.store.place))].join(", ")
    }`;
  }

  async run(input: RunnerInput): Promise<RunnerLayerOutput[]> {
    const { columns } = this.#layout;
    const tokens = input.batch.ids.length;
    const hashed = await this.#kernels.hash(this.#layout, this.#padId, input.batch);
    const results: RunnerLayerOutput[] = [];
    for (const [index, layer] of this.#layers.entries()) {
      const ids = columnsOf(hashed, index, this.#layers.length, columns, tokens);
      const rows = await this.#rows(layer, ids);
      const kv = await this.#kernels.project(layer.projection, rows, tokens);
      const gated = await this.#kernels.gate(layer.gate, {
        tokens,
        kv,
        stream: input.streams[index],
        ...(input.mask ? { mask: input.mask } : {}),
      });
      results.push({
        ...gated,
        ...(input.keep?.ids ? { ids } : {}),
        ...(input.keep?.rows ? { rows } : {}),
        ...(input.keep?.kv ? { kv } : {}),
      });
    }
    return results;
  }

  close(): void {}

  /** Reads just the records asked for and decodes them as a table of that many rows. */
  async #rows(layer: RunnerLayer, ids: Int32Array): Promise<Bf16> {
    const { encoding } = layer.store;
    const records = new Uint8Array(ids.length * encoding.recordBytes);
    await layer.store.readRecords(ids, records);
    return await this.#kernels.lookup(tableOf(encoding, records, ids.length), {
      tokens: ids.length,
      columns: 1,
      ids: Int32Array.from(ids, (_, row) => row),
      local: [0],
    });
  }
}

/** Parts gathered records into codes and scales. */
function tableOf(
  encoding: RunnerLayer["store"]["encoding"],
  records: Uint8Array,
  rows: number,
): Parameters<Kernels["lookup"]>[0] {
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const codes = new Uint8Array(rows * codeBytes);
  const scales = new Uint8Array(rows * scaleBytes);
  for (let row = 0; row < rows; row++) {
    const at = row * recordBytes;
    codes.set(records.subarray(at, at + codeBytes), row * codeBytes);
    scales.set(records.subarray(at + codeBytes, at + recordBytes), row * scaleBytes);
  }
  return { encoding, codes, scales, rowStart: 0, rows };
}

/** One layer's ids [T, columns] of all layers' [T, layers, columns]. */
function columnsOf(
  hashed: Int32Array,
  layer: number,
  layers: number,
  columns: number,
  tokens: number,
): Int32Array {
  const ids = new Int32Array(tokens * columns);
  for (let token = 0; token < tokens; token++) {
    const at = (token * layers + layer) * columns;
    ids.set(hashed.subarray(at, at + columns), token * columns);
  }
  return ids;
}
