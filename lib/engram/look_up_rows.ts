import type { RowStore } from "../table/row_store.ts";
import type { Bf16, Kernels } from "./kernels.ts";

/**
 * Rows `ids` of a store, bf16 [ids.length, headDim]: their records are gathered on the host and
 * decoded on the kernels' device, unless the store itself has them decoded. Any id that is not a row
 * of the store is an error.
 */
export async function lookUpRows(
  kernels: Kernels,
  store: RowStore,
  ids: Int32Array | Float64Array,
): Promise<Bf16> {
  const { encoding } = store;
  if (store.decodeRows) {
    const rows = new Uint16Array(ids.length * encoding.headDim);
    await store.decodeRows(ids, rows);
    return rows;
  }
  const records = new Uint8Array(ids.length * encoding.recordBytes);
  await store.readRecords(ids, records);
  return await kernels.decode(encoding, records);
}
