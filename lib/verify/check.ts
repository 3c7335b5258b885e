/** One thing that does not agree with another. */
export interface Mismatch {
  /** The check that found it. */
  readonly check: string;
  /** The tensor it is about, where it is about one. */
  readonly tensor: string | null;
  /** The file it is about, where it is about one. */
  readonly file: string | null;
  /** The whole of it in a sentence. */
  readonly message: string;
}

/** The outcome of one check. */
export interface Check {
  /** A stable word: `files`, `index`, `config`, `tensors`, `layout`, `map`, `shards`, … */
  readonly check: string;
  /** Whether it was done, and how it ended. */
  readonly status: "ok" | "mismatch" | "not_checked";
  /** What was compared and how much of it, or why it was not. */
  readonly detail: string;
  /** All that was found; empty unless `status` is `mismatch`. */
  readonly mismatches: readonly Mismatch[];
}

/** A check that was done, with what it found. */
export function done(
  check: string,
  detail: string,
  found: readonly Omit<Mismatch, "check">[],
): Check {
  return {
    check,
    status: found.length === 0 ? "ok" : "mismatch",
    detail,
    mismatches: found.map(({ tensor, file, message }) => ({ check, tensor, file, message })),
  };
}

/** A check that was not done, and why. */
export function notChecked(check: string, why: string): Check {
  return { check, status: "not_checked", detail: why, mismatches: [] };
}
