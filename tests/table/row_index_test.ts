import assert from "node:assert/strict";
import fc from "fast-check";
import { RowIndex } from "../../lib/table/row_index.ts";

// Few different rows, some past 2^32, so that they meet; and enough for the index to grow.
const rowNumbers = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 40 }).map((n) => n * 2 ** 32 + 7),
  fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1),
);

Deno.test("an index answers like a Map, whatever is set and deleted", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("set", "set", "delete", "get"), rowNumbers), {
    maxLength: 400,
  });
  fc.assert(fc.property(steps, (list) => {
    const index = new RowIndex();
    const map = new Map<number, number>();
    list.forEach(([step, row], i) => {
      if (step === "set") {
        index.set(row, i);
        map.set(row, i);
      } else if (step === "delete") assert.equal(index.delete(row), map.delete(row));
      assert.equal(index.get(row), map.get(row) ?? -1);
      assert.equal(index.size, map.size);
    });
    for (const [row, value] of map) assert.equal(index.get(row), value);
    index.clear();
    for (const [row] of map) assert.equal(index.get(row), -1);
  }));
});
