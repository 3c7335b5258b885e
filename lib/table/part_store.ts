import { type ByteSource, isSyncSource } from "../bytes/byte_source.ts";
import { EngramError } from "../errors.ts";
import { checkRoom, checkRows } from "./check_rows.ts";
import { PartReader } from "./part_reader.ts";
import { MAX_PLANNED, planRows } from "./row_plan.ts";
import type { RowEncoding, RowStore } from "./row_store.ts";
import { type WindowPart, WindowStore } from "./window_store.ts";

/** One part of every record: row r's lies at `offset + r * bytes` of `source`. */
export interface RecordPart {
  /** Where the part is read from. */
  readonly source: ByteSource;
  /** First byte of row 0's part. */
  readonly offset: number;
  /** Bytes of one row's part. */
  readonly bytes: number;
}

/** What a {@linkcode partStore} is made of. */
export interface PartStoreOptions {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Rows in the table. */
  readonly rows: number;
  /** What it is, for people. */
  readonly place: string;
  /** The parts of a record, in its order: codes and scales, or one packed part. */
  readonly parts: readonly RecordPart[];
  /** Called when the store is closed, where it owns what it reads from. */
  readonly close?: () => void;
}

/**
 * Rows kept as parts of byte sources: the tables of a checkpoint, a packed file, memory.
 * Only the rows asked for are read: duplicates once, in ascending order, neighbours together.
 * The sources stay open when the store is closed: they belong to whoever opened them.
 */
export function partStore(
  { encoding, rows, place, parts, close }: PartStoreOptions,
): RowStore {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (total !== encoding.recordBytes) {
    throw new EngramError(
      "malformed",
      `Cannot read rows: found records of ${total} bytes, wanted ${encoding.recordBytes}`,
    );
  }
  for (const { source, offset, bytes } of parts) {
    if (offset + rows * bytes > source.size) {
      throw new EngramError(
        "malformed",
        `Cannot read rows of \`${source.name}\`: ${rows} rows of ${bytes} bytes from byte ${offset} ` +
          `on end past its ${source.size} bytes`,
        { where: source.name },
      );
    }
  }
  const kept = parts.filter(({ bytes }) => bytes > 0);
  const closeAll = close ?? (() => {});
  return kept.every(isInMemory)
    ? new WindowStore(encoding, rows, place, kept, closeAll)
    : new PartStore(encoding, rows, place, kept, closeAll);
}

function isInMemory(part: RecordPart): part is RecordPart & WindowPart {
  return isSyncSource(part.source) && part.source.memory !== undefined;
}

class PartStore implements RowStore {
  constructor(
    readonly encoding: RowEncoding,
    readonly rows: number,
    readonly place: string,
    readonly parts: readonly RecordPart[],
    readonly close: () => void,
  ) {}

  async readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    const { recordBytes } = this.encoding;
    checkRoom(ids.length, out.length, ids.length * recordBytes, "bytes");
    if (ids.length === 1) return await this.#readOne(ids, out);
    for (let first = 0; first < ids.length; first += MAX_PLANNED) {
      const end = Math.min(first + MAX_PLANNED, ids.length);
      await this.#read(
        ids.subarray(first, end),
        out.subarray(first * recordBytes, end * recordBytes),
        first,
      );
    }
  }

  /** A single row: nothing to plan. */
  async #readOne(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    checkRows(ids, this.rows);
    let at = 0;
    for (const { source, offset, bytes } of this.parts) {
      const into = out.subarray(at, at += bytes);
      if (isSyncSource(source)) source.readSync(into, offset + ids[0] * bytes);
      else await source.read(into, offset + ids[0] * bytes);
    }
  }

  async #read(ids: Int32Array | Float64Array, out: Uint8Array, first: number): Promise<void> {
    const { recordBytes } = this.encoding;
    const { sorted, places } = planRows(ids, this.rows, first);
    let at = 0;
    for (const part of this.parts) {
      const { source, offset, bytes } = part;
      const reader = new PartReader(sorted, places, out, { recordBytes, at, offset, bytes });
      if (isSyncSource(source)) reader.readSync(source);
      else await reader.read(source);
      at += part.bytes;
    }
    for (const source of new Set(this.parts.map(({ source }) => source))) source.checkUnchanged();
  }
}
