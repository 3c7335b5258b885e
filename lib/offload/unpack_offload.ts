import { join } from "node:path";
import { SCALE_GROUP } from "../table/row_encoding.ts";
import type { Dtype } from "../safetensors/dtype.ts";
import { streamTensor } from "../safetensors/read_tensor.ts";
import { SafetensorsWriter } from "../safetensors/safetensors_writer.ts";
import type { CompareOptions } from "../shards/open_compared.ts";
import type { Offload } from "./open_offload.ts";

/** Dtypes of codes and scales of each encoding. */
const DTYPES: Readonly<Record<string, readonly [codes: Dtype, scales: Dtype | null]>> = {
  fp8: ["F8_E4M3", "F8_E8M0"],
  int8: ["I8", "F32"],
  bf16: ["BF16", null],
  f16: ["F16", null],
  f32: ["F32", null],
};

/** How {@linkcode unpackOffload} writes. */
export interface UnpackOptions extends CompareOptions {
  /** Replace files that are there. */
  force?: boolean;
}

/**
 * Writes packed rows back as the tensors they came from, one file a layer, and gives the paths:
 * `embed.weight` [rows, headDim] and `embed.scale`, byte for byte the source's.
 */
export async function unpackOffload(
  offload: Offload,
  folder: string,
  { force, signal, onBytes }: UnpackOptions = {},
): Promise<string[]> {
  const paths: string[] = [];
  for (const { layer_id, file, rows, head_dim } of offload.manifest.layers) {
    const { encoding } = offload.layer(layer_id);
    const { codeBytes, recordBytes } = encoding;
    const [codeDtype, scaleDtype] = DTYPES[encoding.kind];
    const [weight, scale] = ["weight", "scale"].map((part) =>
      `layers.${layer_id}.engram.embed.${part}`
    );
    const path = join(folder, file);
    using writer = SafetensorsWriter.create(path, [
      { name: weight, dtype: codeDtype, shape: [rows, head_dim] },
      ...(scaleDtype
        ? [{ name: scale, dtype: scaleDtype, shape: [rows, Math.ceil(head_dim / SCALE_GROUP)] }]
        : []),
    ], { force: force ?? false });
    const chunkBytes = recordBytes * Math.max(1, Math.floor(8 * 2 ** 20 / recordBytes));
    const options = { chunkBytes, ...(signal && { signal }) };
    for await (const records of streamTensor(offload.tensor(layer_id), options)) {
      writer.append(weight, columnsOf(records, recordBytes, 0, codeBytes));
      if (scaleDtype) writer.append(scale, columnsOf(records, recordBytes, codeBytes, recordBytes));
      onBytes?.(records.length);
    }
    writer.commit();
    paths.push(path);
  }
  return paths;
}

/** Bytes [from, to) of every record, one after another. */
function columnsOf(records: Uint8Array, recordBytes: number, from: number, to: number): Uint8Array {
  const width = to - from;
  const out = new Uint8Array(records.length / recordBytes * width);
  for (let at = 0, put = 0; at < records.length; at += recordBytes, put += width) {
    out.set(records.subarray(at + from, at + to), put);
  }
  return out;
}
