import { type ByteSource, isSyncSource, type SyncByteSource } from "../bytes/byte_source.ts";
import { readRanges } from "../bytes/read_ranges.ts";
import { EngramError } from "../errors.ts";
import { MAX_PLANNED, planRows } from "./row_plan.ts";
import type { RowEncoding, RowStore } from "./row_store.ts";

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

/** Rows read in one request; longer runs of neighbours are split. Bounds the memory of a read. */
const MAX_RUN_BYTES = 2 ** 20;

/** Runs asked for at once where a source has to be awaited: it joins and orders them itself. */
const MAX_BATCH_BYTES = 16 * 2 ** 20;

/** What a run takes in memory beside its bytes. */
const RUN_COST = 512;

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
  return new PartStore(encoding, rows, place, parts, close ?? (() => {}));
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
    if (out.length !== ids.length * recordBytes) {
      throw new EngramError(
        "usage",
        `Cannot read ${ids.length} rows: found room for ${out.length} bytes, ` +
          `wanted ${ids.length * recordBytes}`,
      );
    }
    for (let first = 0; first < ids.length; first += MAX_PLANNED) {
      const end = Math.min(first + MAX_PLANNED, ids.length);
      await this.#read(
        ids.subarray(first, end),
        out.subarray(first * recordBytes, end * recordBytes),
        first,
      );
    }
  }

  async #read(ids: Int32Array | Float64Array, out: Uint8Array, first: number): Promise<void> {
    const { recordBytes } = this.encoding;
    const { sorted, places } = planRows(ids, this.rows, first);
    let at = 0;
    for (const part of this.parts) {
      if (part.bytes === 0) continue;
      const scatter = new Scatter(sorted, places, out, recordBytes, at, part);
      if (isSyncSource(part.source)) scatter.readSync(part.source);
      else await scatter.read(part.source);
      at += part.bytes;
    }
  }
}

/** Reads one part of all planned rows and puts each where it was asked for. */
class Scatter {
  #scratch = new Uint8Array(0);

  constructor(
    readonly sorted: Float64Array,
    readonly places: Int32Array,
    readonly out: Uint8Array,
    readonly recordBytes: number,
    /** Where the part begins in a record. */
    readonly at: number,
    readonly part: RecordPart,
  ) {}

  readSync(source: SyncByteSource): void {
    const { sorted, places, out, part: { offset, bytes } } = this;
    for (let from = 0; from < sorted.length;) {
      const end = this.#runEnd(from);
      const span = sorted[end - 1] - sorted[from] + 1;
      if (span === 1) {
        const to = places[from] * this.recordBytes + this.at;
        source.readSync(out.subarray(to, to + bytes), offset + sorted[from] * bytes);
        for (let i = from + 1; i < end; i++) {
          out.copyWithin(places[i] * this.recordBytes + this.at, to, to + bytes);
        }
      } else {
        const run = this.#room(span * bytes);
        source.readSync(run, offset + sorted[from] * bytes);
        this.#place(run, from, end);
      }
      from = end;
    }
  }

  async read(source: ByteSource): Promise<void> {
    const { sorted, part: { offset, bytes } } = this;
    for (let next = 0; next < sorted.length;) {
      const runs: { from: number; end: number; offset: number; into: Uint8Array }[] = [];
      for (let size = 0; next < sorted.length && size < MAX_BATCH_BYTES; size += RUN_COST) {
        const from = next;
        const end = next = this.#runEnd(from);
        const into = new Uint8Array((sorted[end - 1] - sorted[from] + 1) * bytes);
        runs.push({ from, end, offset: offset + sorted[from] * bytes, into });
        size += into.length;
      }
      await readRanges(source, runs);
      for (const { from, end, into } of runs) this.#place(into, from, end);
    }
  }

  #room(length: number): Uint8Array {
    if (this.#scratch.length < length) this.#scratch = new Uint8Array(2 * length);
    return this.#scratch.subarray(0, length);
  }

  /** The end of the run of equal and neighbouring rows from slot `from` on. */
  #runEnd(from: number): number {
    const { sorted, part: { bytes } } = this;
    const most = sorted[from] + Math.max(1, Math.floor(MAX_RUN_BYTES / bytes));
    let end = from + 1;
    while (end < sorted.length && sorted[end] <= sorted[end - 1] + 1 && sorted[end] < most) end++;
    return end;
  }

  #place(run: Uint8Array, from: number, end: number): void {
    const { sorted, places, out, recordBytes, at, part: { bytes } } = this;
    for (let i = from; i < end; i++) {
      const begin = (sorted[i] - sorted[from]) * bytes;
      out.set(run.subarray(begin, begin + bytes), places[i] * recordBytes + at);
    }
  }
}
