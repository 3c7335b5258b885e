import { addTo, type ColumnStats, emptyStats } from "./column_stats.ts";
import { BAD_VALUE, EQUAL_ROW, flagRows, type RowSpan, ZERO_ROW } from "./row_flags.ts";
import type { ScanJob } from "./scan_job.ts";

/** Some rows of a job in memory. */
export interface RowBlock {
  /** Number of the first row. */
  readonly first: number;
  /** Rows. */
  readonly rows: number;
  /** The rows' strides with the codes; null in a job of scales only. */
  readonly codes: Uint8Array | null;
  /** The rows' strides with the scales. */
  readonly scales: Uint8Array | null;
}

/** Looks at rows and keeps count, column by column. */
export class RowScanner {
  /** What was found, by column; columns not met are absent. */
  readonly stats: Map<number, ColumnStats> = new Map();
  readonly #job: ScanJob;
  readonly #span: RowSpan | null;
  #flags = new Uint8Array(0);
  #column = 0;
  /** Counts of one block: typed, which is much faster to count into than an array. */
  readonly #counts = new Uint32Array(256);

  /** A scanner for rows of `job`. */
  constructor(job: ScanJob) {
    this.#job = job;
    const { codes, kind } = job;
    this.#span = codes && kind !== "scale"
      ? { kind, stride: codes.stride, codeBytes: codes.bytes }
      : null;
  }

  /** Looks at every row of `block`; blocks must come in order of their rows. */
  scan(block: RowBlock): void {
    const { columnStarts } = this.#job;
    if (this.#flags.length < block.rows) this.#flags = new Uint8Array(block.rows);
    for (let done = 0; done < block.rows;) {
      const row = block.first + done;
      while (columnStarts[this.#column + 1] <= row) this.#column++;
      const end = Math.min(columnStarts[this.#column + 1] ?? Infinity, block.first + block.rows);
      this.#rows(block, done, end - row);
      done = end - block.first;
    }
  }

  #rows(block: RowBlock, skip: number, rows: number): void {
    let stats = this.stats.get(this.#column);
    if (!stats) this.stats.set(this.#column, stats = emptyStats());
    stats.rows += rows;
    const first = block.first + skip;
    const { codes, scales } = block;
    if (codes && this.#span) this.#codes(stats, codes, skip, rows, first);
    if (scales) this.#scales(stats, scales, codes, skip, rows, first);
  }

  #codes(stats: ColumnStats, codes: Uint8Array, skip: number, rows: number, first: number): void {
    const span = this.#span as RowSpan;
    const flags = this.#flags;
    const part = codes.subarray(skip * span.stride);
    if (flagRows(part, span, rows, flags) > 0) {
      for (let row = 0; row < rows; row++) {
        const flag = flags[row];
        if (flag === 0) continue;
        if ((flag & BAD_VALUE) !== 0) addTo(stats.badRows, first + row);
        if ((flag & ZERO_ROW) !== 0) addTo(stats.zeroRows, first + row);
        if ((flag & EQUAL_ROW) !== 0) addTo(stats.equalRows, first + row);
      }
    }
    const { sample } = this.#job;
    // Rows whose number is a multiple of `sample`, whatever blocks they come in.
    for (let row = (sample - first % sample) % sample; row < rows; row += sample) {
      countValues(part, row * span.stride, span, this.#counts);
      stats.sampledRows++;
    }
    this.#flush(stats.values);
  }

  #scales(
    stats: ColumnStats,
    scales: Uint8Array,
    codes: Uint8Array | null,
    skip: number,
    rows: number,
    first: number,
  ): void {
    const { scales: at, scaleWidth, groupBytes } = this.#job;
    if (!at) return;
    const counts = this.#counts;
    const { stride, bytes } = at;
    for (let row = 0; row < rows; row++) {
      const start = (skip + row) * stride + at.at;
      for (let i = 0; i < bytes; i += scaleWidth) {
        const scale = scaleWidth === 1 ? scales[start + i] : exponent(scales, start + i);
        counts[scale]++;
        if (scale !== 0 && scale !== 255) continue;
        if (scale === 255) addTo(stats.badScales, first + row);
        if (scale !== 0 || (scaleWidth === 4 && !isZero(scales, start + i, 4))) continue;
        const group = i / scaleWidth * groupBytes;
        const zeros = codes !== null &&
          ((this.#flags[row] & ZERO_ROW) !== 0 || this.#zeros(codes, skip + row, group));
        if (zeros) stats.idleScales++;
        else addTo(stats.zeroScales, first + row);
      }
    }
    this.#flush(stats.scales);
  }

  #flush(histogram: number[]): void {
    const counts = this.#counts;
    for (let i = 0; i < 256; i++) histogram[i] += counts[i];
    counts.fill(0);
  }

  /** Whether the codes that share a scale are all zero, of either sign. */
  #zeros(codes: Uint8Array, row: number, group: number): boolean {
    const { codes: at, groupBytes, kind } = this.#job;
    if (!at) return false;
    const start = row * at.stride;
    const mask = kind === "fp8" ? 0x7f : 0xff;
    for (let i = group; i < Math.min(group + groupBytes, at.bytes); i++) {
      if ((codes[start + i] & mask) !== 0) return false;
    }
    return true;
  }
}

function countValues(codes: Uint8Array, start: number, span: RowSpan, values: Uint32Array): void {
  const end = start + span.codeBytes;
  switch (span.kind) {
    case "fp8":
    case "int8":
      for (let at = start; at < end; at++) values[codes[at]]++;
      return;
    case "f32":
      for (let at = start; at < end; at += 4) values[exponent(codes, at)]++;
      return;
    default:
      // bf16: its exponent. f16: its exponent and three bits more.
      for (let at = start; at < end; at += 2) {
        values[(codes[at + 1] << 1 | codes[at] >> 7) & 0xff]++;
      }
  }
}

/** The exponent field of a float32. */
function exponent(bytes: Uint8Array, at: number): number {
  return (bytes[at + 3] << 1 | bytes[at + 2] >> 7) & 0xff;
}

function isZero(bytes: Uint8Array, at: number, width: number): boolean {
  // The sign bit of a float32 is left out.
  for (let i = 0; i < width; i++) {
    if ((bytes[at + i] & (i === 3 ? 0x7f : 0xff)) !== 0) return false;
  }
  return true;
}
