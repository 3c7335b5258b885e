/** A known mistake that gives exactly the values an engine's dump has. */
export interface Cause {
  /** A stable word, such as `dead-not-sticky`. */
  readonly id: string;
  /** What is wrong, for people. */
  readonly cause: string;
  /** The arrays it explains. */
  readonly arrays: readonly string[];
}

/** Whether two lists of values are the same; NaN equals NaN, 0 equals -0. */
export function sameValues(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i] && (a[i] === a[i] || b[i] === b[i])) return false;
  }
  return true;
}

/** Adds a cause, or the array to one that is there already. */
export function addCause(
  causes: Cause[],
  { id, cause }: Pick<Cause, "id" | "cause">,
  array: string,
): void {
  const at = causes.findIndex((other) => other.cause === cause);
  if (at < 0) causes.push({ id, cause, arrays: [array] });
  else causes[at] = { ...causes[at], arrays: [...causes[at].arrays, array] };
}
