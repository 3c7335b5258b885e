import { memorySource } from "../../lib/bytes/memory_source.ts";
import type { RowEncoding } from "../../lib/table/row_store.ts";
import type { StoredLayer } from "../../lib/table/table_parts.ts";

/** A layer whose table lies in memory, codes and scales apart. */
export function storedLayer(
  encoding: RowEncoding,
  codes: Uint8Array,
  scales: Uint8Array,
): StoredLayer {
  const rows = codes.length / encoding.codeBytes;
  const tensor = (name: string, bytes: Uint8Array) => ({
    name,
    dtype: "U8" as const,
    shape: [rows, bytes.length / rows],
    offset: 0,
    byteLength: bytes.length,
    source: memorySource(bytes),
  });
  const scale = encoding.scaleBytes > 0 ? tensor("embed.scale", scales) : null;
  const embed = { weight: tensor("embed.weight", codes), scale };
  return { layerId: 1, encoding, rows, packed: false, embed };
}
