import assert from "node:assert/strict";
import { EngramError, type ErrorKind } from "../../lib/errors.ts";

/** Asserts that `work` fails with an `EngramError` of this kind whose message has these parts. */
export async function rejects(
  work: () => unknown,
  kind: ErrorKind,
  ...parts: readonly string[]
): Promise<void> {
  await assert.rejects(async () => void await work(), (error) => {
    assert.ok(error instanceof EngramError, `${error}`);
    assert.equal(error.kind, kind, error.message);
    for (const part of parts) {
      assert.ok(error.message.includes(part), `${error.message}\n  lacks: ${part}`);
    }
    return true;
  });
}
