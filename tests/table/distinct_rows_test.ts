import assert from "node:assert/strict";
import fc from "fast-check";
import { distinctRows } from "../../lib/table/distinct_rows.ts";

Deno.test("each row once, and every id finds its own", () => {
  const id = fc.oneof(fc.nat(5), fc.nat(2 ** 31 - 1), fc.constant(2 ** 53 - 1));
  fc.assert(fc.property(fc.array(id, { maxLength: 200 }), (ids) => {
    const { rows, places } = distinctRows(Float64Array.from(ids));
    assert.deepEqual([...rows], [...new Set(ids)]);
    assert.deepEqual(Array.from(places, (place) => rows[place]), ids);
  }));
});
