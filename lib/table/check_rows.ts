import { EngramError } from "../errors.ts";

/**
 * Checks that every one of `ids` is a row of a table of `rows` rows; `first` is the index of the
 * first among those asked for.
 *
 * @throws an {@linkcode EngramError} that names the index of the first that is not.
 */
export function checkRows(ids: Int32Array | Float64Array, rows: number, first = 0): void {
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i];
    if (!(id >= 0 && id < rows) || id % 1 !== 0) badRow(id, first + i, rows);
  }
}

/** Says which of the ids asked for is no row. */
function badRow(id: number, index: number, rows: number): never {
  throw new EngramError(
    "usage",
    `Cannot read rows: row number ${index} is ${id}, wanted an integer from 0 to ${rows - 1}`,
  );
}

/** Checks that the caller has made room for just the rows it asks for. */
export function checkRoom(count: number, found: number, wanted: number, unit: string): void {
  if (found === wanted) return;
  throw new EngramError(
    "usage",
    `Cannot read ${count} rows: found room for ${found} ${unit}, wanted ${wanted}`,
  );
}
