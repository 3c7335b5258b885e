import { RowIndex } from "./row_index.ts";

/** Rows asked for, each once. */
export interface DistinctRows {
  /** The different rows, in order of first sight. */
  readonly rows: Float64Array;
  /** Where each row asked for stands among them. */
  readonly places: Int32Array;
}

/** The different rows among `ids`, which are integers from 0 below 2^53. */
export function distinctRows(ids: Int32Array | Float64Array): DistinctRows {
  const index = new RowIndex(ids.length);
  const rows = new Float64Array(ids.length);
  const places = new Int32Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const known = index.get(ids[i]);
    places[i] = known < 0 ? index.size : known;
    if (known >= 0) continue;
    rows[index.size] = ids[i];
    index.set(ids[i], places[i]);
  }
  return { rows: rows.subarray(0, index.size), places };
}
