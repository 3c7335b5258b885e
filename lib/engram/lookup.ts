import { EngramError } from "../errors.ts";
import { decodeRecords } from "../table/decode_rows.ts";
import type { Bf16, KernelTable, LookupInput } from "./kernels.ts";

/**
 * Rows of a table held in memory: bf16 [tokens, local.length, headDim]. An id the table does not
 * hold (another rank's, or negative) and a padding column give zeros.
 */
export function lookup(table: KernelTable, input: LookupInput): Bf16 {
  checkLookup(table, input);
  const { encoding, codes, scales, rowStart, rows } = table;
  const { tokens, columns, ids, local } = input;
  const { headDim, codeBytes, scaleBytes } = encoding;
  const out = new Uint16Array(tokens * local.length * headDim);
  const record = new Uint8Array(encoding.recordBytes);
  for (let t = 0, at = 0; t < tokens; t++) {
    for (const column of local) {
      const row = column < columns ? ids[t * columns + column] - rowStart : -1;
      if (row >= 0 && row < rows) {
        record.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes));
        record.set(scales.subarray(row * scaleBytes, (row + 1) * scaleBytes), codeBytes);
        decodeRecords(encoding, record, out.subarray(at, at + headDim));
      }
      at += headDim;
    }
  }
  return out;
}

/** Checks that table and ids have the lengths their sizes promise. */
export function checkLookup(table: KernelTable, input: LookupInput): void {
  const { encoding, codes, scales, rows } = table;
  const { tokens, columns, ids, local } = input;
  const bad = local.find((column) => !Number.isSafeInteger(column) || column < 0);
  const wrong = codes.length !== rows * encoding.codeBytes
    ? `${codes.length} code bytes for ${rows} rows, wanted ${rows * encoding.codeBytes}`
    : scales.length !== rows * encoding.scaleBytes
    ? `${scales.length} scale bytes for ${rows} rows, wanted ${rows * encoding.scaleBytes}`
    : ids.length !== tokens * columns
    ? `${ids.length} row numbers, wanted ${tokens * columns}`
    : bad !== undefined
    ? `column ${bad}, wanted 0 or more`
    : undefined;
  if (wrong) throw new EngramError("usage", `Cannot look up ${tokens} tokens: found ${wrong}`);
}
