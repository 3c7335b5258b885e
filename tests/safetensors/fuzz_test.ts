import { equal } from "node:assert/strict";
import fc from "fast-check";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { EngramError } from "../../lib/errors.ts";
import { readTensor } from "../../lib/safetensors/read_tensor.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { entry, rawFile } from "./raw_file.ts";

/** Opens and reads everything: a result whose spans tile the data, or an EngramError. */
async function survives(file: Uint8Array): Promise<void> {
  try {
    const opened = await openSafetensors(memorySource(file));
    let at = opened.headerBytes;
    for (const tensor of opened.tensors.values()) {
      equal(tensor.offset, at);
      at += (await readTensor(tensor)).length;
    }
    equal(at, file.length);
  } catch (error) {
    if (!(error instanceof EngramError) || error.kind !== "malformed") throw error;
  }
}

const HEADER = `{"__metadata__":{"format":"pt","\\u00e9":"\\ud83e\\udd8a"},"a":${
  entry("U8", [4], 0, 4)
},"b":${entry("F32", [2, 1], 4, 12)},"c":${entry("BF16", [0], 12, 12)}}  `;

Deno.test("a file with changed bytes gives a result or an EngramError", async () => {
  const bytes = rawFile(HEADER, 12);
  const edit = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
      const changed = bytes.slice();
      for (const { at, to } of edits) changed[at] = to;
      await survives(changed);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("a header with pieces of JSON put in or cut out gives a result or an EngramError", async () => {
  const piece = fc.constantFrom(
    ...'{}[],:"\\ \n0-1.5e9'.split(""),
    ...["null", "true", "\\u0061", "\\ud83e", '"a"', "9007199254740993", "1e999", "\ufeff", "\0"],
    ...['"dtype"', '"shape"', '"data_offsets"', '"__metadata__"', '"U8"', "[0,4]", "{}", "[[["],
  );
  const edit = fc.record({ at: fc.nat(HEADER.length), cut: fc.nat(12), put: piece });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      let text = HEADER;
      for (const { at, cut, put } of edits) text = text.slice(0, at) + put + text.slice(at + cut);
      await survives(rawFile(text, 12));
    }),
    { numRuns: 3000 },
  );
});

Deno.test("any bytes at all give an EngramError or a result", async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), survives), { numRuns: 1000 });
});
