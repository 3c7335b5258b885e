/** Share of the places taken before the index doubles. */
const MAX_LOAD = 0.5;

const EMPTY = -1;

/**
 * A map from row numbers to small integers in two flat arrays: a JavaScript `Map` takes several
 * times the memory and ends at 2^24 entries. Rows are integers from 0 below 2^53.
 */
export class RowIndex {
  #rows: Float64Array;
  #values: Int32Array;
  #mask: number;
  #size = 0;

  /** Makes room for `rows` rows; more are taken too, at the cost of growing. */
  constructor(rows = 16) {
    const places = 2 ** Math.ceil(Math.log2(Math.max(16, rows / MAX_LOAD + 1)));
    this.#rows = new Float64Array(places).fill(EMPTY);
    this.#values = new Int32Array(places);
    this.#mask = places - 1;
  }

  /** Bytes that an index of `rows` rows takes. */
  static bytes(rows: number): number {
    return 12 * 2 ** Math.ceil(Math.log2(Math.max(16, rows / MAX_LOAD + 1)));
  }

  /** Rows held. */
  get size(): number {
    return this.#size;
  }

  /** The row's value, or -1 where it has none. */
  get(row: number): number {
    for (let at = this.#home(row);; at = (at + 1) & this.#mask) {
      if (this.#rows[at] === row) return this.#values[at];
      if (this.#rows[at] === EMPTY) return -1;
    }
  }

  /** Gives the row a value of 0 or more. */
  set(row: number, value: number): void {
    let at = this.#home(row);
    while (this.#rows[at] !== row && this.#rows[at] !== EMPTY) at = (at + 1) & this.#mask;
    if (this.#rows[at] === EMPTY) {
      this.#rows[at] = row;
      this.#size++;
    }
    this.#values[at] = value;
    if (this.#size > (this.#mask + 1) * MAX_LOAD) this.#grow();
  }

  /** Forgets the row; whether it was there. */
  delete(row: number): boolean {
    const rows = this.#rows;
    const mask = this.#mask;
    let hole = this.#home(row);
    while (rows[hole] !== row) {
      if (rows[hole] === EMPTY) return false;
      hole = (hole + 1) & mask;
    }
    // Rows behind that were pushed past this place move up, so that no search ends too early.
    for (let at = (hole + 1) & mask; rows[at] !== EMPTY; at = (at + 1) & mask) {
      const home = this.#home(rows[at]);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      rows[hole] = rows[at];
      this.#values[hole] = this.#values[at];
      hole = at;
    }
    rows[hole] = EMPTY;
    this.#size--;
    return true;
  }

  /** Forgets all rows and keeps the room. */
  clear(): void {
    this.#rows.fill(EMPTY);
    this.#size = 0;
  }

  #home(row: number): number {
    return mixRow(row) & this.#mask;
  }

  #grow(): void {
    const [rows, values] = [this.#rows, this.#values];
    const places = 2 * rows.length;
    this.#rows = new Float64Array(places).fill(EMPTY);
    this.#values = new Int32Array(places);
    this.#mask = places - 1;
    this.#size = 0;
    for (let i = 0; i < rows.length; i++) if (rows[i] !== EMPTY) this.set(rows[i], values[i]);
  }
}

/** Spreads a row number below 2^53 over 32 bits, every one of which depends on the whole number. */
export function mixRow(row: number): number {
  let bits = (row % 2 ** 32) ^ Math.imul(Math.floor(row / 2 ** 32) + 1, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
