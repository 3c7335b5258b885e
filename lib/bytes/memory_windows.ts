/** Bytes that lie in this process's memory, in windows: typed arrays have a greatest length. */
export interface MemoryWindows {
  /** The windows, one after another; all but the last are full. */
  readonly windows: readonly Uint8Array[];
  /** Bytes of a full window. */
  readonly windowBytes: number;
  /** The whole words of each window; null where they are not to be had: they begin at odd places. */
  readonly words: readonly BigUint64Array[] | null;
}

/** Bytes of a word: what is copied at once. */
const WORD = BigUint64Array.BYTES_PER_ELEMENT;

/** Windows of `windowBytes` bytes, but for the last, which may be shorter. */
export function memoryWindows(
  windows: readonly Uint8Array[],
  windowBytes: number,
): MemoryWindows {
  const even = windows.length < 2 || windowBytes % WORD === 0;
  return { windows, windowBytes, words: even ? allWords(windows) : null };
}

function allWords(windows: readonly Uint8Array[]): readonly BigUint64Array[] | null {
  const words = windows.map(wordsOf);
  return words.every((found) => found !== null) ? words : null;
}

function wordsOf({ buffer, byteOffset, length }: Uint8Array): BigUint64Array | null {
  if (byteOffset % WORD !== 0) return null;
  return new BigUint64Array(buffer, byteOffset, Math.floor(length / WORD));
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

/** Pieces up to this long are copied byte by byte, and up to that by words: a call takes longer. */
const SHORT = 16, MOST_BY_WORDS = 512;

/** What was looked at; kept, so that looking is not left out as useless. */
let seen = 0;

/** Copies piece `ids[i]` into `into` for each i; all must lie within the windows. */
export function gatherPieces(
  memory: MemoryWindows,
  place: PiecePlace,
  ids: Int32Array | Float64Array,
  into: Uint8Array,
  target: PieceTarget,
): void {
  const { words } = memory;
  const places = [place.offset, place.bytes, target.stride, target.at];
  const byWords = words && place.bytes <= MOST_BY_WORDS && places.every((n) => n % WORD === 0);
  const out = byWords ? wordsOf(into) : null;
  for (let first = 0; first < ids.length; first += AHEAD) {
    const end = Math.min(first + AHEAD, ids.length);
    look(memory, place, ids, first, end);
    if (words && out) copyWords(memory, words, place, ids, first, end, into, out, target);
    else copyBytes(memory, place, ids, first, end, into, target);
  }
}

function look(
  { windows, windowBytes }: MemoryWindows,
  { offset, bytes }: PiecePlace,
  ids: Int32Array | Float64Array,
  first: number,
  end: number,
): void {
  let looked = 0;
  for (let i = first; i < end; i++) {
    const begin = offset + ids[i] * bytes;
    const index = Math.floor(begin / windowBytes);
    const window = windows[index];
    const from = begin - index * windowBytes;
    const last = Math.min(from + bytes, window.length);
    for (let line = from; line < last; line += LINE) looked ^= window[line];
    // Pieces that begin within a line end in one more.
    looked ^= window[last - 1];
  }
  seen ^= looked;
}

function copyWords(
  memory: MemoryWindows,
  words: readonly BigUint64Array[],
  { offset, bytes }: PiecePlace,
  ids: Int32Array | Float64Array,
  first: number,
  end: number,
  into: Uint8Array,
  out: BigUint64Array,
  { stride, at }: PieceTarget,
): void {
  const { windowBytes } = memory;
  const count = bytes / WORD;
  for (let i = first; i < end; i++) {
    const begin = offset + ids[i] * bytes;
    const index = Math.floor(begin / windowBytes);
    const window = words[index];
    const from = (begin - index * windowBytes) / WORD;
    const to = i * stride + at;
    if (from + count > window.length) copyAcross(memory, begin, into.subarray(to, to + bytes));
    else for (let w = 0, o = to / WORD; w < count; w++) out[o + w] = window[from + w];
  }
}

function copyBytes(
  memory: MemoryWindows,
  { offset, bytes }: PiecePlace,
  ids: Int32Array | Float64Array,
  first: number,
  end: number,
  into: Uint8Array,
  { stride, at }: PieceTarget,
): void {
  const { windows, windowBytes } = memory;
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
