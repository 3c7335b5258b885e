/** Bits of a page: 64 KiB of memory. */
const PAGE = 2 ** 19;

/** A set of row numbers: a bit a row, in pages that are made when first needed. */
export class RowBits {
  readonly #pages: (Uint32Array | undefined)[] = [];

  /** Puts `row`, an integer from 0, into the set; whether it is new there. */
  add(row: number): boolean {
    const page = Math.floor(row / PAGE);
    const bits = this.#pages[page] ??= new Uint32Array(PAGE / 32);
    const at = row % PAGE;
    const bit = 1 << (at & 31);
    if ((bits[at >>> 5] & bit) !== 0) return false;
    bits[at >>> 5] |= bit;
    return true;
  }
}
