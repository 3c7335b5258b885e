import { gatherPieces, type MemoryWindows, type PiecePlace } from "../bytes/memory_windows.ts";
import { BlockDecoder } from "./block_decoder.ts";
import { checkRoom, checkRows } from "./check_rows.ts";
import type { RowEncoding, RowStore } from "./row_store.ts";

/** One part of every record, in memory. */
export interface WindowPart extends PiecePlace {
  /** Where it lies; asked for at every read, so that what is closed is found out. */
  readonly source: { readonly memory: MemoryWindows; checkUnchanged(): void };
}

/**
 * Rows that lie in this process's memory, a memory map's among them: copied in the order asked for, as
 * nothing is gained by sorting what has not to be read.
 */
export class WindowStore implements RowStore {
  readonly #decoder: BlockDecoder;
  /** Each source once: codes and scales mostly share a file. */
  readonly #sources: ReadonlySet<WindowPart["source"]>;

  /** A store of `rows` records whose parts, in order, are `parts`; `close` is called when it is closed. */
  constructor(
    readonly encoding: RowEncoding,
    readonly rows: number,
    readonly place: string,
    readonly parts: readonly WindowPart[],
    readonly close: () => void,
  ) {
    this.#decoder = new BlockDecoder(encoding);
    this.#sources = new Set(parts.map(({ source }) => source));
  }

  // deno-lint-ignore require-await -- a throw has to become a rejection
  async readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    checkRoom(ids.length, out.length, ids.length * this.encoding.recordBytes, "bytes");
    checkRows(ids, this.rows);
    const { recordBytes } = this.encoding;
    const { blockRows } = this.#decoder;
    this.#checkUnchanged();
    // A block's codes are still in the processor's cache when its scales are put beside them.
    for (let first = 0; first < ids.length; first += blockRows) {
      this.#gather(ids.subarray(first, first + blockRows), out.subarray(first * recordBytes));
    }
    this.#checkUnchanged();
  }

  // deno-lint-ignore require-await -- as above
  async decodeRows(ids: Int32Array | Float64Array, out: Uint16Array): Promise<void> {
    const { headDim } = this.encoding;
    checkRoom(ids.length, out.length, ids.length * headDim, "values");
    checkRows(ids, this.rows);
    const { blockRows, records } = this.#decoder;
    this.#checkUnchanged();
    for (let first = 0; first < ids.length; first += blockRows) {
      const block = ids.subarray(first, first + blockRows);
      this.#gather(block, records);
      out.set(this.#decoder.decode(block.length), first * headDim);
    }
    this.#checkUnchanged();
  }

  /** Before: a map of a file that was shortened ends the process. After: its bytes are the ones it had. */
  #checkUnchanged(): void {
    for (const source of this.#sources) source.checkUnchanged();
  }

  #gather(ids: Int32Array | Float64Array, into: Uint8Array): void {
    let at = 0;
    for (const part of this.parts) {
      gatherPieces(part.source.memory, part, ids, into, { stride: this.encoding.recordBytes, at });
      at += part.bytes;
    }
  }
}
