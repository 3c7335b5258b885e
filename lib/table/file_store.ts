import { partStore } from "./part_store.ts";
import type { RowStore } from "./row_store.ts";
import { type StoredLayer, tableParts } from "./table_parts.ts";

/** The rows of a checkpoint's own files, read by position. Nothing else of the table is read. */
export function fileStore(layer: StoredLayer): RowStore {
  const { encoding, rows, packed } = layer;
  const place = packed ? "packed file" : "file";
  return partStore({ encoding, rows, place, parts: tableParts(layer) });
}
