import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { mergeRanges } from "../../lib/bytes/merge_ranges.ts";

Deno.test("merged ranges hold every piece once, lie apart, and stay within the limit", () => {
  const piece = fc.record({ offset: fc.nat(5000), length: fc.integer({ min: 1, max: 300 }) });
  fc.assert(
    fc.property(
      fc.array(piece),
      fc.nat(50),
      fc.integer({ min: 300, max: 900 }),
      (list, gap, most) => {
        const pieces = list.map(({ offset, length }) => ({ offset, into: new Uint8Array(length) }));
        const merged = mergeRanges(pieces, gap, most);
        deepEqual(new Set(merged.flatMap((range) => range.pieces)), new Set(pieces));
        equal(merged.flatMap((range) => range.pieces).length, pieces.length);
        for (const [i, { begin, end, pieces }] of merged.entries()) {
          ok(end - begin <= most);
          equal(begin, Math.min(...pieces.map(({ offset }) => offset)));
          equal(end, Math.max(...pieces.map(({ offset, into }) => offset + into.length)));
          // Two neighbours could not have been one.
          const next = merged[i + 1];
          if (!next) continue;
          const first = next.pieces[0];
          const joined = Math.max(end, first.offset + first.into.length) - begin;
          ok(next.begin - end > gap || joined > most);
        }
      },
    ),
  );
});

Deno.test("no pieces are no ranges, and bytes between pieces are at most the gap's", () => {
  deepEqual(mergeRanges([], 10, 100), []);
  const at = (offset: number) => ({ offset, into: new Uint8Array(10) });
  const spans = (offsets: number[]) =>
    mergeRanges(offsets.map(at), 5, 100).map(({ begin, end }) => [begin, end]);
  deepEqual(spans([0, 15]), [[0, 25]]);
  deepEqual(spans([16, 0]), [[0, 10], [16, 26]]);
  deepEqual(spans([0, 0, 5, 10]), [[0, 20]]);
});
