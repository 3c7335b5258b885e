import type { RowEncoding } from "../checkpoint/row_encoding.ts";
import { EngramError } from "../errors.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { partStore } from "./part_store.ts";
import type { RowStore } from "./row_store.ts";

/** The part of a checkpoint's layer that holds its table. */
export interface TableTensors {
  /** The layer's id, for messages. */
  readonly layerId: number;
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** The table: codes [rows, …] with scales apart, or whole records in one tensor. */
  readonly embed: { readonly weight: Tensor | null; readonly scale: Tensor | null };
}

/**
 * The rows of a checkpoint's own files, read by position. Nothing else of the table is read.
 *
 * @throws an {@linkcode EngramError} where the checkpoint's tensors are not there, or their bytes
 * are not rows of the encoding.
 */
export function fileStore({ layerId, encoding, embed: { weight, scale } }: TableTensors): RowStore {
  if (!weight) {
    throw new EngramError(
      "unavailable",
      `Cannot read rows of layer ${layerId}: its table is not in the checkpoint`,
      { hint: "Give a checkpoint with its weights, not a config alone" },
    );
  }
  const rows = weight.shape[0];
  const parts = [weight, ...(scale ? [scale] : [])].map((tensor) => {
    if (tensor.byteLength % rows !== 0) {
      throw new EngramError(
        "malformed",
        `Cannot read rows of ${tensor.name}: ${tensor.byteLength} bytes are not ${rows} equal rows`,
        { where: tensor.source.name },
      );
    }
    const { source, offset, byteLength } = tensor;
    return { source, offset, bytes: byteLength / rows };
  });
  return partStore({
    encoding,
    rows,
    place: scale || encoding.scaleBytes === 0 ? "file" : "packed file",
    parts,
  });
}
