import { addTo, type ColumnStats, emptyStats } from "./column_stats.ts";
import { BAD_VALUE, EQUAL_ROW, flagRows, type RowSpan, ZERO_ROW } from "./row_flags.ts";
import type { RowBytes, ScanJob } from "./scan_job.ts";
import type { ScanMemory } from "./scan_memory.ts";

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
  readonly #memory: ScanMemory;
  readonly #span: RowSpan | null;
  #column = 0;

  /** A scanner for rows of `job`, whose blocks lie in `memory`. */
  constructor(job: ScanJob, memory: ScanMemory) {
    this.#job = job;
    this.#memory = memory;
    const { codes, kind } = job;
    this.#span = codes && kind !== "scale"
      ? { kind, stride: codes.stride, codeBytes: codes.bytes }
      : null;
  }

  /** Looks at every row of `block`; blocks must come in order of their rows. */
  scan(block: RowBlock): void {
    const { columnStarts } = this.#job;
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
    const { flags, simd } = this.#memory;
    const part = codes.subarray(skip * span.stride);
    if (flagRows(part, span, rows, flags, simd) > 0) {
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
    const begin = (sample - first % sample) % sample;
    if (begin >= rows) return;
    const sampled = Math.ceil((rows - begin) / sample);
    this.#countValues(part.subarray(begin * span.stride), sampled, sample * span.stride);
    stats.sampledRows += sampled;
    this.#memory.flushCounts(stats.values);
  }

  /** Counts the values of `rows` rows by code or exponent. */
  #countValues(codes: Uint8Array, rows: number, stride: number): void {
    const { kind, codeBytes } = this.#span as RowSpan;
    if (kind === "fp8" || kind === "int8") {
      return this.#memory.countBytes(codes, rows, stride, codeBytes);
    }
    const { counts } = this.#memory;
    const width = kind === "f32" ? 4 : 2;
    for (let row = 0; row < rows; row++) {
      // bf16, f32: the exponent. f16: its exponent and three bits more.
      for (let at = row * stride; at < row * stride + codeBytes; at += width) {
        counts[topByte(codes, at, width)]++;
      }
    }
  }

  #scales(
    stats: ColumnStats,
    scales: Uint8Array,
    codes: Uint8Array | null,
    skip: number,
    rows: number,
    first: number,
  ): void {
    const { scales: at, scaleWidth } = this.#job;
    if (!at) return;
    const part = scales.subarray(skip * at.stride + at.at);
    const seen: number[] = new Array(256).fill(0);
    const { counts } = this.#memory;
    if (scaleWidth === 1) this.#memory.countBytes(part, rows, at.stride, at.bytes);
    else {
      for (let row = 0; row < rows; row++) {
        const start = row * at.stride;
        for (let i = start; i < start + at.bytes; i += 4) counts[topByte(part, i, 4)]++;
      }
    }
    this.#memory.flushCounts(seen);
    seen.forEach((count, scale) => stats.scales[scale] += count);
    if (seen[0] + seen[255] > 0) this.#oddScales(stats, part, codes, skip, rows, first);
  }

  /** Tells scales of 0 and 255 by what stands under them. */
  #oddScales(
    stats: ColumnStats,
    scales: Uint8Array,
    codes: Uint8Array | null,
    skip: number,
    rows: number,
    first: number,
  ): void {
    const { scaleWidth, groupBytes } = this.#job;
    const { stride, bytes } = this.#job.scales as RowBytes;
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < bytes; i += scaleWidth) {
        const place = row * stride + i;
        const scale = scaleWidth === 1 ? scales[place] : topByte(scales, place, 4);
        if (scale !== 0 && scale !== 255) continue;
        if (scale === 255) addTo(stats.badScales, first + row);
        if (scale !== 0 || (scaleWidth === 4 && !isZeroFloat(scales, place))) continue;
        const group = i / scaleWidth * groupBytes;
        const zeros = codes !== null &&
          ((this.#memory.flags[row] & ZERO_ROW) !== 0 || this.#zeros(codes, skip + row, group));
        if (zeros) stats.idleScales++;
        else addTo(stats.zeroScales, first + row);
      }
    }
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

/** The eight bits below the sign of a value of `width` bytes: a float32's or bf16's exponent. */
function topByte(bytes: Uint8Array, at: number, width: 2 | 4): number {
  return (bytes[at + width - 1] << 1 | bytes[at + width - 2] >> 7) & 0xff;
}

/** Whether a float32 is zero, of either sign. */
function isZeroFloat(bytes: Uint8Array, at: number): boolean {
  return (bytes[at] | bytes[at + 1] | bytes[at + 2] | (bytes[at + 3] & 0x7f)) === 0;
}
