import type { KernelTable } from "../engram/kernels.ts";

/** A table of only the rows asked for, and the ids that ask for them in it. */
export interface GatheredTable {
  /** One row for each different id. */
  readonly table: KernelTable;
  /** As the ids given, but numbers of rows in `table`; -1 where the row is not held. */
  readonly ids: Int32Array;
}

/** Gathers on the host the rows that `ids` names, each once: the way round a GPU with too little room. */
export function gatheredTable(table: KernelTable, ids: Int32Array): GatheredTable {
  const { encoding: { codeBytes, scaleBytes }, rowStart, rows } = table;
  const found = new Map<number, number>();
  const mapped = ids.map((id) => {
    const row = id - rowStart;
    if (id < 0 || row < 0 || row >= rows) return -1;
    const known = found.get(row);
    if (known !== undefined) return known;
    found.set(row, found.size);
    return found.size - 1;
  });
  const codes = new Uint8Array(found.size * codeBytes);
  const scales = new Uint8Array(found.size * scaleBytes);
  for (const [row, at] of found) {
    codes.set(table.codes.subarray(row * codeBytes, (row + 1) * codeBytes), at * codeBytes);
    scales.set(table.scales.subarray(row * scaleBytes, (row + 1) * scaleBytes), at * scaleBytes);
  }
  return {
    table: { encoding: table.encoding, codes, scales, rowStart: 0, rows: found.size },
    ids: mapped,
  };
}
