/**
 * The one error type of the library.
 *
 * @module
 */

/** What kind of failure an {@linkcode EngramError} is; the command line maps each to an exit code. */
export type ErrorKind =
  /** The caller asked for something that makes no sense (a bad argument). */
  | "usage"
  /** The input's bytes or values break their format. */
  | "malformed"
  /** Something is not there, may not be read or written, or does not fit. */
  | "unavailable"
  /** Two things that must agree do not. */
  | "mismatch"
  /** A GPU was demanded and none can be used. */
  | "no_gpu"
  /** The caller stopped the work. */
  | "interrupted";

/** Options of {@linkcode EngramError}. */
export interface EngramErrorOptions {
  /** The file, tensor or option the error is about. */
  where?: string;
  /** One sentence that says how to mend it; commands in it can be typed as they stand. */
  hint?: string;
  /** The error underneath. */
  cause?: unknown;
}

/**
 * Every failure the library expects: bad input, a missing file, a mismatch.
 * Messages read `Cannot <act> <place>: <what was found>, wanted <what>`.
 * Any other error class that escapes the library is a bug in it.
 *
 * @example
 * ```ts
 * import { EngramError } from "./errors.ts";
 *
 * const error = new EngramError("malformed", "Cannot parse header: found 3 bytes, wanted 8", {
 *   where: "model.safetensors",
 * });
 * if (error.kind !== "malformed") throw new Error("unreachable");
 * ```
 */
export class EngramError extends Error {
  /** The class's name. */
  override readonly name = "EngramError";
  /** What kind of failure this is. */
  readonly kind: ErrorKind;
  /** The file, tensor or option the error is about, where it has one. */
  readonly where: string | undefined;
  /** How to mend it, where that is known. */
  readonly hint: string | undefined;

  /** Makes an error of `kind` with a whole message. */
  constructor(kind: ErrorKind, message: string, options: EngramErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.where = options.where;
    this.hint = options.hint;
  }
}
