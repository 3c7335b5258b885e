import { deepEqual } from "node:assert/strict";
import fc from "fast-check";
import { gatherPieces, memoryWindows } from "../../lib/bytes/memory_windows.ts";

Deno.test("pieces are gathered whatever windows they lie in, and nothing else is written", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 0, max: 5 }),
      fc.array(fc.nat({ max: 30 }), { maxLength: 600 }),
      // Sizes and places that are all multiples of 8 are copied by words.
      fc.constantFrom(1, 4, 8),
      fc.constantFrom(0, 1, 8),
      (units, pieceUnits, offsetUnits, atUnits, gapUnits, ids, unit, lead) => {
        const [windowBytes, bytes, offset] = [units * unit, pieceUnits * unit, offsetUnits * unit];
        const [at, gap] = [atUnits * unit, gapUnits * unit];
        const memory = crypto.getRandomValues(new Uint8Array(offset + 31 * bytes));
        const windows: Uint8Array[] = [];
        for (let i = 0; i < memory.length; i += windowBytes) {
          const window = memory.subarray(i, i + windowBytes);
          const held = new Uint8Array(lead + window.length).subarray(lead);
          held.set(window);
          windows.push(held);
        }
        const stride = at + bytes + gap;
        const into = new Uint8Array(lead + ids.length * stride).subarray(lead).fill(7);
        const wanted = into.slice();
        ids.forEach((id, i) => {
          const from = offset + id * bytes;
          wanted.set(memory.subarray(from, from + bytes), i * stride + at);
        });
        const from = memoryWindows(windows, windowBytes);
        gatherPieces(from, { offset, bytes }, Int32Array.from(ids), into, { stride, at });
        deepEqual(into, wanted);
        into.fill(7);
        gatherPieces(from, { offset, bytes }, Float64Array.from(ids), into, { stride, at });
        deepEqual(into, wanted);
      },
    ),
  );
});
