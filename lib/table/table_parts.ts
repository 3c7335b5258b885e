import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
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
  const { weight, scale } = tableOf(layer);
  return [weight, ...(scale ? [scale] : [])].map((tensor) => {
    const { name, source, offset, byteLength } = tensor;
    const bytes = byteLength / layer.rows;
    if (layer.rows > 0 && Number.isInteger(bytes)) return { source, offset, bytes };
    throw new EngramError(
      "malformed",
      `Cannot read rows of ${name}: ${byteLength} bytes are not ${layer.rows} equal rows`,
      { where: source.name },
    );
  });
}
