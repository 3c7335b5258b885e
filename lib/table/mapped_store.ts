import type { SyncByteSource } from "../bytes/byte_source.ts";
import { mapFile } from "../bytes/mapped_source.ts";
import { partStore } from "./part_store.ts";
import type { RowStore } from "./row_store.ts";
import { type StoredLayer, tableParts } from "./table_parts.ts";

/**
 * The rows of a checkpoint's own local files through memory maps: no system call a row. Needs
 * `--allow-ffi`. Closing the store unmaps the files.
 *
 * @throws an `EngramError` of kind `unavailable` where a file cannot be mapped.
 */
export function mappedStore(layer: StoredLayer): RowStore {
  const maps = new Map<string, SyncByteSource>();
  const close = () => maps.forEach((map) => map.close());
  try {
    const parts = tableParts(layer).map((part) => {
      const { name } = part.source;
      const source = maps.get(name) ?? mapFile(name);
      maps.set(name, source);
      return { ...part, source };
    });
    const { encoding, rows } = layer;
    return partStore({ encoding, rows, place: "memory map", parts, close });
  } catch (error) {
    close();
    throw error;
  }
}
