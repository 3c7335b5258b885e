import assert from "node:assert/strict";
import type { RunnerLayerOutput } from "../../lib/engram/engram_runner.ts";

/** Equal values; says the first that differs, where a whole comparison would take minutes. */
export function assertSame(
  found: ArrayLike<number> | undefined,
  wanted: ArrayLike<number> | undefined,
  what: string,
): void {
  assert.equal(found?.length, wanted?.length, what);
  for (let i = 0; found && wanted && i < wanted.length; i++) {
    if (found[i] !== wanted[i]) assert.fail(`${what}: value ${i} is ${found[i]}, not ${wanted[i]}`);
  }
}

/** Every part of every layer's results. */
export function assertSameOutputs(
  found: readonly RunnerLayerOutput[],
  wanted: readonly RunnerLayerOutput[],
  what: string,
): void {
  assert.equal(found.length, wanted.length, what);
  found.forEach((layer, i) => {
    assert.deepEqual(Object.keys(layer).sort(), Object.keys(wanted[i]).sort(), what);
    for (const part of ["ids", "rows", "kv", "gate", "output"] as const) {
      assertSame(layer[part], wanted[i][part], `${what}, layer ${i}, ${part}`);
    }
  });
}
