import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { widenBf16 } from "../table/bf16.ts";
import { decodeRecords } from "../table/decode_rows.ts";
import { fileStore } from "../table/file_store.ts";
import { fp8Value } from "../table/fp8.ts";
import { narrowToBf16 } from "../table/bf16.ts";
import { SCALE_GROUP } from "../table/row_encoding.ts";

/** A wrong way to take a row's scales. */
export type ScaleMistake = "as numbers" | { readonly groups: number } | { readonly rows: number };

/**
 * Rows of a layer as numbers [ids, headDim], perhaps with wrong scales; zeros for ids that are no
 * row. Small numbers of rows only.
 */
export async function readRows(
  layer: EngramLayer,
  ids: Float64Array,
  mistake?: ScaleMistake,
): Promise<Float64Array> {
  const { encoding, rows } = layer;
  const { headDim, codeBytes, recordBytes, scaleBytes } = encoding;
  const records = await readRecords(layer, ids);
  if (mistake && mistake !== "as numbers") {
    const scaleWidth = encoding.kind === "int8" ? 4 : 1;
    const groups = scaleBytes / scaleWidth;
    // Scales lie one after another over all rows: the one beside a row's last is the next row's.
    const shift = "groups" in mistake ? mistake.groups : mistake.rows * groups;
    const below = await readRecords(layer, ids.map((id) => id + Math.floor(shift / groups)));
    const above = await readRecords(layer, ids.map((id) => id + Math.floor(shift / groups) + 1));
    const within = ((shift % groups) + groups) % groups;
    ids.forEach((_, i) => {
      const at = i * recordBytes + codeBytes;
      for (let group = 0; group < groups; group++) {
        const from = group + within < groups ? below : above;
        const begin = at + (group + within) % groups * scaleWidth;
        records.set(from.subarray(begin, begin + scaleWidth), at + group * scaleWidth);
      }
    });
  }
  if (mistake === "as numbers") {
    return Float64Array.from(
      widenBf16(narrowToBf16(Float32Array.from({ length: ids.length * headDim }, (_, i) => {
        const at = Math.floor(i / headDim) * recordBytes;
        const group = Math.floor((i % headDim) / SCALE_GROUP);
        return fp8Value(records[at + i % headDim]) * records[at + codeBytes + group];
      }))),
    );
  }
  const values = new Uint16Array(ids.length * headDim);
  decodeRecords(encoding, records, values);
  ids.forEach((id, i) => {
    if (!(id >= 0 && id < rows)) values.fill(0, i * headDim, (i + 1) * headDim);
  });
  return Float64Array.from(widenBf16(values));
}

/** Records of ids; zeros for those that are no row. */
async function readRecords(layer: EngramLayer, ids: Float64Array): Promise<Uint8Array> {
  tableOf(layer);
  const { rows, encoding: { recordBytes } } = layer;
  const records = new Uint8Array(ids.length * recordBytes);
  const there = ids.filter((id) => id >= 0 && id < rows);
  const read = new Uint8Array(there.length * recordBytes);
  await fileStore(layer).readRecords(there, read);
  let next = 0;
  ids.forEach((id, i) => {
    if (!(id >= 0 && id < rows)) return;
    records.set(read.subarray(next, next += recordBytes), i * recordBytes);
  });
  return records;
}
