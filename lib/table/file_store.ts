import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
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
  const parts = [weight, ...(scale ? [scale] : [])].map((tensor) => {
    const { name, source, offset, byteLength } = tensor;
    const bytes = byteLength / rows;
    if (rows > 0 && Number.isInteger(bytes)) return { source, offset, bytes };
    throw new EngramError(
      "malformed",
      `Cannot read rows of ${name}: ${byteLength} bytes are not ${rows} equal rows`,
      { where: source.name },
    );
  });
  return partStore({ encoding, rows, place: packed ? "packed file" : "file", parts });
}
