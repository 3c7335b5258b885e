/** How many row numbers of a finding are kept: enough to look them up, whatever a table holds. */
export const MOST_EXAMPLES = 16;

/** Something counted, with the first rows it was seen in. */
export interface Tally {
  /** How often: rows, or scale bytes. */
  count: number;
  /** The lowest rows it was seen in, ascending, at most {@linkcode MOST_EXAMPLES}. */
  rows: number[];
}

/** What was found in one column of a table; plain data, so that it can be sent and saved. */
export interface ColumnStats {
  /** Rows read. */
  rows: number;
  /** Rows with a NaN (or, in wider encodings, infinite) value. */
  badRows: Tally;
  /** Scales that are 0 (byte 0) over values that are not: engines read them differently. */
  zeroScales: Tally;
  /** Scales that are 0 over zeros only: every engine reads zeros. */
  idleScales: number;
  /** Scales of byte 255, or in F32 scales NaN and infinities: infinity to some engines, NaN to others. */
  badScales: Tally;
  /** Rows of zeros. */
  zeroRows: Tally;
  /** Rows that are one value, not zero, throughout. */
  equalRows: Tally;
  /** Rows counted into `values`. */
  sampledRows: number;
  /** How often each code byte (8-bit encodings) or exponent (wider ones) was seen [256]. */
  values: number[];
  /** How often each scale byte, or exponent of an F32 scale, was seen [256]. */
  scales: number[];
}

/** Nothing found yet. */
export function emptyStats(): ColumnStats {
  const tally = (): Tally => ({ count: 0, rows: [] });
  return {
    rows: 0,
    badRows: tally(),
    zeroScales: tally(),
    idleScales: 0,
    badScales: tally(),
    zeroRows: tally(),
    equalRows: tally(),
    sampledRows: 0,
    values: new Array(256).fill(0),
    scales: new Array(256).fill(0),
  };
}

/** Counts one more, in `row`. */
export function addTo(tally: Tally, row: number): void {
  tally.count++;
  if (tally.rows.length < MOST_EXAMPLES && tally.rows.at(-1) !== row) tally.rows.push(row);
}

/** Adds `more` to `stats`; the order parts are added in does not matter. */
export function mergeStats(stats: ColumnStats, more: ColumnStats): void {
  stats.rows += more.rows;
  stats.idleScales += more.idleScales;
  stats.sampledRows += more.sampledRows;
  for (const key of ["badRows", "zeroScales", "badScales", "zeroRows", "equalRows"] as const) {
    const tally = stats[key];
    tally.count += more[key].count;
    tally.rows = [...tally.rows, ...more[key].rows].sort((a, b) => a - b).slice(0, MOST_EXAMPLES);
  }
  for (const key of ["values", "scales"] as const) {
    const into = stats[key];
    more[key].forEach((count, i) => into[i] += count);
  }
}
