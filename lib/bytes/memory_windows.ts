/** Bytes that lie in this process's memory, in windows: typed arrays have a greatest length. */
export interface MemoryWindows {
  /** The windows, one after another; all but the last are full. */
  readonly windows: readonly Uint8Array[];
  /** Bytes of a full window. */
  readonly windowBytes: number;
}

/** Pieces of equal size that lie at multiples of it. */
export interface PiecePlace {
  /** First byte of piece 0. */
  readonly offset: number;
  /** Bytes of a piece. */
  readonly bytes: number;
}

/** Where pieces go: piece i to byte `i * stride + at`. */
export interface PieceTarget {
  /** Bytes from one piece to the next. */
  readonly stride: number;
  /** Where the first one begins. */
  readonly at: number;
}

/** Pieces looked at before they are copied: their cache misses then overlap instead of adding up. */
const AHEAD = 256;

/** Bytes that a processor fetches at once. */
const LINE = 64;

/** Pieces up to this long are copied byte by byte: a call takes longer. */
const SHORT = 16;

/** What was looked at; kept, so that looking is not left out as useless. */
let seen = 0;

/** Copies piece `ids[i]` into `into` for each i; all must lie within the windows. */
export function gatherPieces(
  memory: MemoryWindows,
  { offset, bytes }: PiecePlace,
  ids: Int32Array | Float64Array,
  into: Uint8Array,
  { stride, at }: PieceTarget,
): void {
  const { windows, windowBytes } = memory;
  for (let first = 0; first < ids.length; first += AHEAD) {
    const end = Math.min(first + AHEAD, ids.length);
    let looked = 0;
    for (let i = first; i < end; i++) {
      const begin = offset + ids[i] * bytes;
      const index = Math.floor(begin / windowBytes);
      const window = windows[index];
      const from = begin - index * windowBytes;
      const last = Math.min(from + bytes, window.length);
      for (let line = from; line < last; line += LINE) looked ^= window[line];
    }
    seen ^= looked;
    for (let i = first; i < end; i++) {
      const begin = offset + ids[i] * bytes;
      const index = Math.floor(begin / windowBytes);
      const window = windows[index];
      const from = begin - index * windowBytes;
      const to = i * stride + at;
      if (from + bytes > window.length) copyAcross(memory, begin, into.subarray(to, to + bytes));
      else if (bytes > SHORT) into.set(window.subarray(from, from + bytes), to);
      else for (let b = 0; b < bytes; b++) into[to + b] = window[from + b];
    }
  }
}

/** Fills `into` with the bytes from `offset` on, whatever windows they lie in. */
export function copyAcross(memory: MemoryWindows, offset: number, into: Uint8Array): void {
  const { windows, windowBytes } = memory;
  for (let done = 0; done < into.length;) {
    const index = Math.floor((offset + done) / windowBytes);
    const from = offset + done - index * windowBytes;
    const piece = windows[index].subarray(from, from + into.length - done);
    into.set(piece, done);
    done += piece.length;
  }
}
