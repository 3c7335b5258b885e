import type { LayerRowLayout } from "../layout/layout.ts";

/** How far a converted column of a table is from its source. */
export interface ColumnError {
  /** The column; -1 stands for the padding rows behind the last. */
  readonly column: number;
  /** Rows compared. */
  readonly rows: number;
  /** Largest difference of a value. */
  readonly largest: number;
  /** Root of the mean of the squared differences. */
  readonly rms: number;
  /** Root of the mean of the squared values, to hold the errors against. */
  readonly valueRms: number;
}

/** A source value that is no finite number. */
export interface OddValue {
  /** Its row. */
  readonly row: number;
  /** Its place in the row. */
  readonly value: number;
}

/** Values counted that are not finite, with the first of them. */
export interface OddValues {
  /** How many. */
  readonly count: number;
  /** The first few. */
  readonly first: readonly OddValue[];
}

/** Odd values kept to be shown. */
const SHOWN = 8;

interface Sums {
  rows: number;
  largest: number;
  squares: number;
  valueSquares: number;
  values: number;
}

/** Gathers the errors of a table's conversion, column by column, over rows in order. */
export class ConversionErrors {
  readonly #ends: readonly number[];
  readonly #headDim: number;
  readonly #sums: Sums[];
  readonly #odd = {
    nan: { count: 0, first: [] as OddValue[] },
    infinite: { count: 0, first: [] as OddValue[] },
  };

  /** For a table of `layer` whose rows have `headDim` values. */
  constructor(layer: LayerRowLayout, headDim: number) {
    this.#ends = [...layer.offsets.slice(1), layer.rows, Infinity];
    this.#headDim = headDim;
    this.#sums = this.#ends.map(() => ({
      rows: 0,
      largest: 0,
      squares: 0,
      valueSquares: 0,
      values: 0,
    }));
  }

  /** Compares rows from `firstRow` on: `source` and `result` are [rows, headDim]. */
  add(firstRow: number, source: Float32Array, result: Float32Array): void {
    const headDim = this.#headDim;
    let column = this.#ends.findIndex((end) => firstRow < end);
    for (let at = 0, row = firstRow; at < source.length; row++) {
      while (row >= this.#ends[column]) column++;
      const sums = this.#sums[column];
      let { largest, squares, valueSquares, values } = sums;
      for (const end = at + headDim; at < end; at++) {
        const value = source[at];
        if (value - value !== 0) {
          this.#note(value, row, headDim - (end - at));
          continue;
        }
        const error = Math.abs(result[at] - value);
        if (error > largest) largest = error;
        squares += error * error;
        valueSquares += value * value;
        values++;
      }
      Object.assign(sums, { rows: sums.rows + 1, largest, squares, valueSquares, values });
    }
  }

  /** The columns that had rows, in order. */
  columns(): ColumnError[] {
    return this.#sums.flatMap(({ rows, largest, squares, valueSquares, values }, i) => {
      if (rows === 0) return [];
      const column = i === this.#sums.length - 1 ? -1 : i;
      const rms = (sum: number) => (values === 0 ? 0 : Math.sqrt(sum / values));
      return [{ column, rows, largest, rms: rms(squares), valueRms: rms(valueSquares) }];
    });
  }

  /** Source values that are NaN. */
  get nan(): OddValues {
    return this.#odd.nan;
  }

  /** Source values that are infinite. */
  get infinite(): OddValues {
    return this.#odd.infinite;
  }

  #note(number: number, row: number, value: number): void {
    const odd = number !== number ? this.#odd.nan : this.#odd.infinite;
    if (odd.count++ < SHOWN) odd.first.push({ row, value });
  }
}
