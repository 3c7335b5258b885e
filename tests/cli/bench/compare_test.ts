import assert from "node:assert/strict";
import fc from "fast-check";
import { compare, compareSamples } from "../../../cli/bench/compare.ts";
import type { BenchRecord, BenchResult } from "../../../cli/bench/record.ts";

/** Twenty samples spread evenly ±10 % around `centre`. */
function around(centre: number): number[] {
  return Array.from({ length: 20 }, (_, i) => centre * (0.9 + 0.2 * i / 19));
}

Deno.test("half the time is faster, twice the time slower, with the true ratio inside", () => {
  const faster = compareSamples(around(1), around(0.5));
  assert.equal(faster.verdict, "faster");
  assert.ok(faster.interval[0] <= 0.5 && 0.5 <= faster.interval[1]);
  const slower = compareSamples(around(1), around(2));
  assert.equal(slower.verdict, "slower");
  assert.ok(slower.interval[0] <= 2 && 2 <= slower.interval[1]);
});

Deno.test("the same samples, or too few of them, are undecided", () => {
  assert.equal(compareSamples(around(1), around(1)).verdict, "undecided");
  assert.equal(compareSamples([1, 1, 1, 1], [2, 2, 2, 2]).verdict, "undecided");
});

Deno.test("a difference inside the spread is undecided", () => {
  assert.equal(compareSamples(around(1), around(1.01)).verdict, "undecided");
});

Deno.test("swapping the sides turns the ratio over and never gives the same firm verdict", () => {
  const samples = fc.array(fc.double({ min: 1e-6, max: 1, noNaN: true }), {
    minLength: 5,
    maxLength: 15,
  });
  fc.assert(
    fc.property(samples, samples, (a, b) => {
      const there = compareSamples(a, b);
      const back = compareSamples(b, a);
      assert.ok(Math.abs(there.ratio * back.ratio - 1) < 1e-9);
      assert.ok(there.verdict === "undecided" || there.verdict !== back.verdict);
    }),
    { numRuns: 30 },
  );
});

Deno.test("only cases of both records are compared, by name, variant and parameters", () => {
  const result = (tokens: number, samples: number[]): BenchResult => ({
    name: "hash",
    variant: "cpu",
    role: "case",
    parameters: { tokens },
    work: { tokens, rows: null, distinctRows: null, bytes: null },
    counted: "-",
    excluded: "-",
    samples,
    gpuSamples: null,
    warnings: [],
  });
  const record = (results: BenchResult[]) => ({ results }) as unknown as BenchRecord;
  const found = compare(
    record([result(1, around(1)), result(2, around(1))]),
    record([result(2, around(3)), result(4, around(1))]),
  );
  assert.deepEqual(found.map(({ name, verdict }) => [name, verdict]), [
    ["hash cpu tokens=2", "slower"],
  ]);
});
