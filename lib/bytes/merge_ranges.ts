import type { ReadRange } from "./byte_source.ts";

/** Ranges that are read as one. */
export interface MergedRange {
  /** First byte. */
  readonly begin: number;
  /** Byte after the last one. */
  readonly end: number;
  /** The pieces inside, by offset. */
  readonly pieces: readonly ReadRange[];
}

/**
 * Joins pieces that overlap, touch or lie at most `gap` bytes apart, as long as the result stays
 * within `most` bytes. The result is in the order of the bytes.
 */
export function mergeRanges(
  ranges: readonly ReadRange[],
  gap: number,
  most: number,
): MergedRange[] {
  const merged: { begin: number; end: number; pieces: ReadRange[] }[] = [];
  for (const piece of [...ranges].sort((a, b) => a.offset - b.offset)) {
    const begin = piece.offset;
    const end = begin + piece.into.length;
    const last = merged.at(-1);
    const joined = last && Math.max(last.end, end);
    if (last && joined && begin - last.end <= gap && joined - last.begin <= most) {
      last.end = joined;
      last.pieces.push(piece);
    } else merged.push({ begin, end, pieces: [piece] });
  }
  return merged;
}
