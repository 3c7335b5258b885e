import { memorySource } from "../bytes/memory_source.ts";
import { EngramError } from "../errors.ts";
import { partStore } from "./part_store.ts";
import type { RowEncoding, RowStore } from "./row_store.ts";

/** A table's bytes in host memory. */
export interface MemoryTable {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Codes [rows, codeBytes], or whole records [rows, recordBytes] where `scales` is absent. */
  readonly codes: Uint8Array;
  /** Scales [rows, scaleBytes]. */
  readonly scales?: Uint8Array;
}

/** Rows held in host memory. */
export function memoryStore({ encoding, codes, scales }: MemoryTable): RowStore {
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const bytes = scales ? codeBytes : recordBytes;
  const rows = codes.length / bytes;
  if (!Number.isInteger(rows)) {
    throw new EngramError(
      "malformed",
      `Cannot read rows in memory: ${codes.length} bytes are not whole rows of ${bytes}`,
    );
  }
  const parts = [{ source: memorySource(codes, "codes in memory"), offset: 0, bytes }];
  if (scales) {
    parts.push({ source: memorySource(scales, "scales in memory"), offset: 0, bytes: scaleBytes });
  }
  return partStore({
    encoding,
    rows,
    place: "host memory",
    parts,
  });
}
