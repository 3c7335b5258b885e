import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import type { RecordPart } from "./part_store.ts";

/** What a store of a checkpoint's rows is made of. */
export type StoredLayer = Pick<
  EngramLayer,
  "layerId" | "encoding" | "rows" | "packed" | "embed"
>;

/**
 * Where a layer's records lie in the checkpoint's files: codes and scales, or whole records.
 *
 * @throws an {@linkcode EngramError} where the layer's table is not there, or its bytes are not
 * rows of its encoding.
 */
export function tableParts(layer: StoredLayer): RecordPart[] {
  const { encoding: { codeBytes, scaleBytes, recordBytes }, packed, rows } = layer;
  const { weight, scale } = tableOf(layer);
  return packed || !scale
    ? [partOf(weight, rows, recordBytes)]
    : [partOf(weight, rows, codeBytes), partOf(scale, rows, scaleBytes)];
}

function partOf({ name, source, offset, byteLength }: Tensor, rows: number, bytes: number) {
  if (byteLength === rows * bytes) return { source, offset, bytes };
  throw new EngramError(
    "malformed",
    `Cannot read rows of ${name}: found ${byteLength} bytes, wanted ${rows} rows of ${bytes}`,
    { where: source.name },
  );
}
