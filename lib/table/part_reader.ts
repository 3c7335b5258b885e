import type { ByteSource, SyncByteSource } from "../bytes/byte_source.ts";
import { readRanges } from "../bytes/read_ranges.ts";

/** Rows read in one request; longer runs of neighbours are split. Bounds the memory of a read. */
const MAX_RUN_BYTES = 2 ** 20;

/** Runs asked for at once where a source has to be awaited: it joins and orders them itself. */
const MAX_BATCH_BYTES = 16 * 2 ** 20;

/** What a run takes in memory beside its bytes. */
const RUN_COST = 512;

/** Where one part of every record is kept, and where it goes. */
export interface PartPlace {
  /** Bytes of a record. */
  readonly recordBytes: number;
  /** Where the part begins in a record. */
  readonly at: number;
  /** First byte of row 0's part in its source. */
  readonly offset: number;
  /** Bytes of one row's part. */
  readonly bytes: number;
}

/** Reads one part of planned rows and puts each where it was asked for. */
export class PartReader {
  #scratch = new Uint8Array(0);

  /** A reader of a plan's rows (`sorted` and `places`) into records at `out`. */
  constructor(
    readonly sorted: Float64Array,
    readonly places: Int32Array,
    readonly out: Uint8Array,
    readonly place: PartPlace,
  ) {}

  /** Reads the slots [first, last) of the plan, which are whole runs, at once. */
  readSync(source: SyncByteSource, first = 0, last: number = this.sorted.length): void {
    const { sorted, places, out, place: { recordBytes, at, offset, bytes } } = this;
    const single = new SingleRows(source, out, bytes, last - first);
    for (let from = first; from < last;) {
      const end = this.#runEnd(from);
      const span = sorted[end - 1] - sorted[from] + 1;
      if (span === 1) {
        const to = places[from] * recordBytes + at;
        single.add(offset + sorted[from] * bytes, to);
        for (let i = from + 1; i < end; i++) single.repeat(to, places[i] * recordBytes + at);
      } else {
        const run = this.#room(span * bytes);
        source.readSync(run, offset + sorted[from] * bytes);
        this.#place(run, from, end);
      }
      from = end;
    }
    single.flush();
  }

  /** Reads all slots, many runs at a time. */
  async read(source: ByteSource): Promise<void> {
    const { sorted, place: { offset, bytes } } = this;
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
    const { sorted, place: { bytes } } = this;
    const most = sorted[from] + Math.max(1, Math.floor(MAX_RUN_BYTES / bytes));
    let end = from + 1;
    while (end < sorted.length && sorted[end] <= sorted[end - 1] + 1 && sorted[end] < most) end++;
    return end;
  }

  #place(run: Uint8Array, from: number, end: number): void {
    const { sorted, places, out, place: { recordBytes, at, bytes } } = this;
    for (let i = from; i < end; i++) {
      const begin = (sorted[i] - sorted[from]) * bytes;
      out.set(run.subarray(begin, begin + bytes), places[i] * recordBytes + at);
    }
  }
}

/** Rows read together. */
const TOGETHER = 512;

/** Rows without neighbours: gathered, where the source reads many sooner than one by one. */
class SingleRows {
  readonly #offsets: Float64Array;
  readonly #places: Float64Array;
  #count = 0;
  /** Where rows go once more: from and to in turn. */
  #repeats: number[] = [];

  constructor(
    readonly source: SyncByteSource,
    readonly out: Uint8Array,
    readonly bytes: number,
    most: number,
  ) {
    const room = source.readPieces ? Math.min(TOGETHER, most) : 1;
    this.#offsets = new Float64Array(room);
    this.#places = new Float64Array(room);
  }

  /** Reads the row at byte `offset` to byte `to` of the result, now or with others. */
  add(offset: number, to: number): void {
    if (this.#count === this.#offsets.length) this.flush();
    this.#offsets[this.#count] = offset;
    this.#places[this.#count++] = to;
    if (!this.source.readPieces) this.flush();
  }

  /** Copies a row that was added, and goes to byte `from`, to byte `to` as well. */
  repeat(from: number, to: number): void {
    this.#repeats.push(from, to);
  }

  /** Reads and copies all that is left. */
  flush(): void {
    const { source, out, bytes } = this;
    const [offsets, places, count] = [this.#offsets, this.#places, this.#count];
    if (source.readPieces) source.readPieces(out, { offsets, places, count, bytes });
    else if (count > 0) {
      source.readSync(out.subarray(places[0], places[0] + bytes), offsets[0]);
    }
    for (let i = 0; i < this.#repeats.length; i += 2) {
      const [from, to] = [this.#repeats[i], this.#repeats[i + 1]];
      out.copyWithin(to, from, from + bytes);
    }
    this.#count = 0;
    this.#repeats = [];
  }
}
