import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { partStore } from "./part_store.ts";
import type { RowStore } from "./row_store.ts";

/**
 * The rows of a checkpoint's own files, read by position. Nothing else of the table is read.
 *
 * @throws an {@linkcode EngramError} where the layer's table is not there, or its bytes are not
 * rows of its encoding.
 */
export function fileStore(
  layer: Pick<EngramLayer, "layerId" | "encoding" | "rows" | "packed" | "embed">,
): RowStore {
  const { encoding, rows, packed } = layer;
  const { weight, scale } = tableOf(layer);
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const parts = packed || !scale
    ? [partOf(weight, rows, recordBytes)]
    : [partOf(weight, rows, codeBytes), partOf(scale, rows, scaleBytes)];
  return partStore({ encoding, rows, place: packed ? "packed file" : "file", parts });
}

function partOf({ name, source, offset, byteLength }: Tensor, rows: number, bytes: number) {
  if (byteLength === rows * bytes) return { source, offset, bytes };
  throw new EngramError(
    "malformed",
    `Cannot read rows of ${name}: found ${byteLength} bytes, wanted ${rows} rows of ${bytes}`,
    { where: source.name },
  );
}
