import assert from "node:assert/strict";
import fc from "fast-check";
import { planRows } from "../../lib/table/row_plan.ts";

Deno.test("a plan is the ids in ascending order, with where each was asked for", () => {
  const rows = fc.constantFrom(1, 2, 255, 256, 257, 2 ** 20, 2 ** 31, 2 ** 32 + 5, 2 ** 53 - 1);
  fc.assert(
    fc.property(rows, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), fc.nat(300), (
      rows,
      places,
      count,
    ) => {
      const edges = [0, rows - 1, Math.floor(rows / 2), Math.max(0, rows - 2)];
      const ids = Float64Array.from(
        { length: count },
        (_, i) => i < 4 ? edges[i] : Math.min(rows - 1, Math.floor(places.next().value * rows)),
      );
      check(ids, rows);
    }),
  );
});

Deno.test("many ids are planned as few are", () => {
  for (const rows of [3000, 384_006_696, 2 ** 40]) {
    check(Float64Array.from({ length: 20_000 }, (_, i) => (i * 2_654_435_761) % rows), rows);
  }
  check(Int32Array.from({ length: 20_000 }, (_, i) => 2 ** 31 - 1 - (i * 7919) % 100_000), 2 ** 31);
});

function check(ids: Int32Array | Float64Array, rows: number): void {
  const { sorted, places } = planRows(ids, rows);
  assert.deepEqual([...sorted], [...ids].sort((a, b) => a - b));
  assert.deepEqual([...places].sort((a, b) => a - b), Array.from(ids, (_, i) => i));
  assert.deepEqual([...sorted], Array.from(places, (place) => ids[place]));
}
