import { extname } from "node:path";
import { npyHeader } from "../lib/arrays/npy_header.ts";
import { bytesOf } from "../lib/bytes/bytes_of.ts";
import { OutputFile } from "../lib/bytes/output_file.ts";
import { EngramError } from "../lib/errors.ts";
import { jsonNumbers } from "./json_numbers.ts";
import { SafetensorsWriter } from "../lib/safetensors/safetensors_writer.ts";
import { fromBf16, widenBf16 } from "../lib/table/bf16.ts";

/** Rows of one layer that are to be written. */
export interface RowPlan {
  readonly layerId: number;
  /** How many. */
  readonly count: number;
  readonly headDim: number;
}

/** A file of rows by number; it appears on commit, and is removed without. */
export interface RowOutput extends Disposable {
  /** The next rows of layer `layer` of the plan: their numbers, and bf16 [ids, headDim]. */
  append(layer: number, ids: Float64Array, values: Uint16Array): void;
  commit(): void;
}

/** Begins the output at `path`, in the format that its ending names (which has been checked). */
export function openRowOutput(path: string, layers: readonly RowPlan[], force: boolean): RowOutput {
  switch (extname(path)) {
    case ".npy":
      return npy(path, layers, force);
    case ".jsonl":
      return jsonLines(path, layers, force);
    default:
      return safetensors(path, layers, force);
  }
}

function safetensors(path: string, layers: readonly RowPlan[], force: boolean): RowOutput {
  const name = ({ layerId }: RowPlan) => `layers.${layerId}.rows`;
  const writer = SafetensorsWriter.create(
    path,
    layers.map((layer) => ({
      name: name(layer),
      dtype: "BF16" as const,
      shape: [layer.count, layer.headDim],
    })),
    { force, metadata: { format: "engram-rows" } },
  );
  return {
    append: (layer, _, values) => writer.append(name(layers[layer]), bytesOf(values)),
    commit: () => writer.commit(),
    [Symbol.dispose]: () => writer.abort(),
  };
}

/** NumPy has no bf16: values are written as the float32 they are. */
function npy(path: string, layers: readonly RowPlan[], force: boolean): RowOutput {
  if (layers.length !== 1) {
    throw new EngramError(
      "usage",
      `Cannot write \`${path}\`: rows of ${layers.length} layers are asked for, ` +
        "wanted one: a .npy file holds one array",
      { where: "--out", hint: "Name a .safetensors file, or ask for one layer's rows" },
    );
  }
  const [{ count, headDim }] = layers;
  const header = npyHeader("<f4", [count, headDim]);
  const file = OutputFile.create(path, { force, size: header.length + count * headDim * 4 });
  file.write(header);
  return {
    append: (_layer, _ids, values) => file.write(bytesOf(widenBf16(values))),
    commit: () => file.commit(),
    [Symbol.dispose]: () => file.abort(),
  };
}

/** One line a row. */
function jsonLines(path: string, layers: readonly RowPlan[], force: boolean): RowOutput {
  const file = OutputFile.create(path, { force });
  const encoder = new TextEncoder();
  return {
    append(layer, ids, values) {
      const { layerId, headDim } = layers[layer];
      const lines = Array.from(ids, (row, i) => {
        const list = jsonNumbers(
          Array.from(values.subarray(i * headDim, (i + 1) * headDim), (bits) => fromBf16(bits)),
        );
        return `{"layer_id":${layerId},"row":${row},"values":${list}}\n`;
      });
      file.write(encoder.encode(lines.join("")));
    },
    commit: () => file.commit(),
    [Symbol.dispose]: () => file.abort(),
  };
}
