import assert from "node:assert/strict";
import fc from "fast-check";
import { ScanMemory } from "../../lib/verify/scan_memory.ts";

for (const useSimd of [true, false]) {
  Deno.test(`bytes are counted one by one, ${useSimd ? "by SIMD" : "in JavaScript"}`, () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 1, max: 41 }),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        (rows, bytes, gap, every) => {
          const stride = bytes + gap;
          const memory = new ScanMemory(rows * every + 1, 0, stride, useSimd);
          assert.equal(memory.simd !== null, useSimd);
          crypto.getRandomValues(memory.scales);
          // Few values, so that the same is met again and again.
          memory.scales.forEach((value, i) => memory.scales[i] = value % 3 === 0 ? 255 : value % 5);
          const at = memory.scales.subarray(1);
          const wanted = new Array(256).fill(7);
          for (let row = 0; row < rows; row++) {
            const begin = row * every * stride;
            at.slice(begin, begin + bytes).forEach((value) => wanted[value]++);
          }
          const histogram = new Array(256).fill(7);
          memory.countBytes(at, rows, every * stride, bytes);
          memory.flushCounts(histogram);
          assert.deepEqual(histogram, wanted);
          memory.flushCounts(histogram);
          assert.deepEqual(histogram, wanted);
        },
      ),
    );
  });
}
