import { EngramError } from "../errors.ts";

let signal: AbortSignal = new AbortController().signal;

/**
 * Ends every request under way when `stop` is aborted: a program that is told to stop must not
 * wait for a slow server. Sources keep no signal of their own, since they outlive single jobs.
 */
export function interruptRequests(stop: AbortSignal): void {
  signal = stop;
}

/** Aborted when the program is told to stop. */
export function interrupt(): AbortSignal {
  return signal;
}

/** The error requests end with then. */
export function interrupted(): EngramError {
  return new EngramError("interrupted", "Interrupted");
}
