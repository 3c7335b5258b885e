import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { HeaderFault } from "../../lib/safetensors/header_fault.ts";
import { JsonReader } from "../../lib/safetensors/json_reader.ts";

/** Whether the reader takes `text`. */
function takes(text: string): boolean {
  const json = new JsonReader(text);
  try {
    json.skip();
    json.end();
    return true;
  } catch (error) {
    if (error instanceof HeaderFault) return false;
    throw error;
  }
}

/** Whether JSON takes it, and none of what is beyond JSON's own rules is in it. */
function shouldTake(text: string): boolean {
  let finite = true;
  try {
    JSON.parse(text, (_key, value) => {
      if (typeof value === "number" && !Number.isFinite(value)) finite = false;
      if (typeof value === "string" && !value.isWellFormed()) finite = false;
      const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
      if (keys.some((key) => !key.isWellFormed())) finite = false;
      return value;
    });
  } catch {
    return false;
  }
  return finite;
}

const PIECES = [
  ..."{}[],:\"\\/ \n\t\r0123456789-+.eEuxntf'aé\v\f\0\x1f\x7f",
  ...['"a"', '"a":', "true", "false", "null", "tru", "\\u0061", "\\ud83e\\udd8a", "\\ud83e", "\\n"],
  ...["\\x", "1e999", "-0", "01", "1.", ".5", "1e+2", "NaN", "\ufeff", "\u00a0", "\u2028", "🦊"],
];

Deno.test("the grammar is that of JSON.parse on JSON texts with pieces put in and cut out", () => {
  const edits = fc.array(
    fc.record({ at: fc.nat(80), cut: fc.nat(3), put: fc.constantFrom("", ...PIECES) }),
    { maxLength: 3 },
  );
  let taken = 0;
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), edits, (value, changes) => {
      let text = JSON.stringify(value);
      for (const { at, cut, put } of changes) {
        const from = at % (text.length + 1);
        text = text.slice(0, from) + put + text.slice(from + cut);
      }
      // A cut may leave half of a surrogate pair, which no decoded UTF-8 holds.
      text = text.toWellFormed();
      const wanted = shouldTake(text);
      taken += Number(wanted);
      equal(takes(text), wanted, text);
    }),
    { numRuns: 5000 },
  );
  // Both outcomes have been seen often.
  equal(taken > 500 && taken < 4900, true, `${taken} taken`);
});

Deno.test("the grammar is that of JSON.parse on random pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      equal(takes(text), shouldTake(text), text);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("strings and keys have the text that JSON.parse gives them", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })),
      (map) => {
        const escaped = JSON.stringify(map).replace(
          /[^\x20-\x7e]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
        for (const text of [JSON.stringify(map), escaped, JSON.stringify(map, null, 2)]) {
          const json = new JsonReader(text);
          const read: [string, string][] = [];
          json.object("it", (key) => read.push([key, json.string("a value")]));
          json.end();
          deepEqual(read, Object.entries(map));
        }
      },
    ),
  );
});
