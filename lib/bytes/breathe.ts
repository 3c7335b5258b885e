import { EngramError } from "../errors.ts";

/** Signals are answered this soon; yielding more often would cost more than it gives. */
const INTERVAL_MS = 50;

let last = 0;

/**
 * Lets timers and signals in during long synchronous work: they arrive only between turns of the
 * event loop, which awaiting work that is done at once never ends. Cheap enough for any loop over
 * chunks.
 *
 * @throws an {@linkcode EngramError} of kind `interrupted` once `signal` is aborted.
 */
export async function breathe(signal?: AbortSignal): Promise<void> {
  if (performance.now() - last >= INTERVAL_MS) {
    await new Promise((resume) => setTimeout(resume, 0));
    last = performance.now();
  }
  if (signal?.aborted) throw new EngramError("interrupted", "Interrupted");
}
