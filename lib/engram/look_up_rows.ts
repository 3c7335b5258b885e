import { decodeRecords } from "../table/decode_rows.ts";
import type { RowEncoding, RowStore } from "../table/row_store.ts";
import type { Bf16, Kernels, KernelTable } from "./kernels.ts";

/**
 * Rows `ids` of a store, bf16 [ids.length, headDim]: their records are gathered on the host and
 * decoded on the kernels' device. Any id that is not a row of the store is an error.
 */
export async function lookUpRows(
  kernels: Kernels,
  store: RowStore,
  ids: Int32Array | Float64Array,
): Promise<Bf16> {
  const { encoding } = store;
  const records = new Uint8Array(ids.length * encoding.recordBytes);
  await store.readRecords(ids, records);
  if (kernels.device === "cpu") {
    const rows = new Uint16Array(ids.length * encoding.headDim);
    decodeRecords(encoding, records, rows);
    return rows;
  }
  return await kernels.lookup(tableOf(encoding, records), {
    tokens: ids.length,
    columns: 1,
    ids: Int32Array.from(ids, (_, row) => row),
    local: [0],
  });
}

/** Gathered records as a table of that many rows, codes and scales apart. */
function tableOf(encoding: RowEncoding, records: Uint8Array): KernelTable {
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const rows = records.length / recordBytes;
  const codes = new Uint8Array(rows * codeBytes);
  const scales = new Uint8Array(rows * scaleBytes);
  for (let row = 0; row < rows; row++) {
    const at = row * recordBytes;
    codes.set(records.subarray(at, at + codeBytes), row * codeBytes);
    scales.set(records.subarray(at + codeBytes, at + recordBytes), row * scaleBytes);
  }
  return { encoding, codes, scales, rowStart: 0, rows };
}
