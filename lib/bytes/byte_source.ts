import type { MemoryWindows } from "./memory_windows.ts";

/** A piece to be read: `into` is filled from byte `offset` on. */
export interface ReadRange {
  /** First byte in the source. */
  readonly offset: number;
  /** Filled whole. */
  readonly into: Uint8Array;
}

/** A place bytes are read from by position: a file, a URL, memory. The parser never knows which. */
export interface ByteSource {
  /** Path or URL, for messages. */
  readonly name: string;
  /** Size in bytes, exact up to 2^53 - 1. */
  readonly size: number;
  /**
   * Fills the whole of `into` from byte `offset` on.
   * Throws an `EngramError` when the range does not lie inside the source, or when fewer bytes
   * came than `size` promised (the file was shortened); never leaves a part unfilled silently.
   */
  read(into: Uint8Array, offset: number): Promise<void>;
  /**
   * Reads many pieces at once, in any order: a remote source joins neighbours and fetches in
   * parallel. Where it is missing, `readRanges` of `read_ranges.ts` makes it of `read`.
   */
  readRanges?(ranges: readonly ReadRange[]): Promise<void>;
  /**
   * Throws an `EngramError` when the bytes behind the source are no longer those it was opened on,
   * as far as that can be told. Readers of long ranges call it when they are done.
   */
  checkUnchanged(): void;
  /** Closes the source; reading afterwards is an error. Closing twice is fine. */
  close(): void;
}

/** Pieces of a source, all of one length, and where they go. */
export interface Pieces {
  /** First byte of each piece in the source. */
  readonly offsets: Float64Array;
  /** Where each begins in what is filled. */
  readonly places: Float64Array;
  /** How many there are: both arrays may be longer. */
  readonly count: number;
  /** Bytes of each. */
  readonly bytes: number;
}

/** A source that can also be read without awaiting: a file or memory, much faster for single rows. */
export interface SyncByteSource extends ByteSource {
  /** Tells an open file from another one of its name: for threads that open it by name again. */
  readonly identity?: string;
  /** Where the bytes lie in memory, for sources that do not have to be read. */
  readonly memory?: MemoryWindows;
  /** Like {@linkcode ByteSource.read}, at once. */
  readSync(into: Uint8Array, offset: number): void;
  /** Fills many pieces of `into`, sooner than one by one. */
  readPieces?(into: Uint8Array, pieces: Pieces): void;
}

/** Whether `source` can be read without awaiting. */
export function isSyncSource(source: ByteSource): source is SyncByteSource {
  return "readSync" in source;
}
