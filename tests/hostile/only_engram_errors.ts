import assert from "node:assert/strict";
import { EngramError } from "../../lib/errors.ts";

/** Longer than any honest piece of work on small input, shorter than a hang. */
const MOST_MS = 5000;

/**
 * Runs `work` on hostile input: a result or one clear `EngramError`, in bounded time. Returns
 * whether there was a result, so that a test can see that not everything is refused.
 */
export async function onlyEngramErrors(work: () => unknown): Promise<boolean> {
  const started = performance.now();
  try {
    await work();
    return true;
  } catch (error) {
    assert.ok(error instanceof EngramError, error instanceof Error ? error.stack : `${error}`);
    assert.ok(error.message.length < 2000, `a message of ${error.message.length} characters`);
    assert.ok(!/\bat .*\.ts:\d+/.test(error.message), error.message);
    return false;
  } finally {
    assert.ok(performance.now() - started < MOST_MS, "took too long");
  }
}
