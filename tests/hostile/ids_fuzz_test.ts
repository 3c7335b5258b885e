import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { openIds } from "../../lib/arrays/open_ids.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { fileBytes } from "../checkpoint/small_checkpoint.ts";
import { onlyEngramErrors } from "./only_engram_errors.ts";

/** The bytes of a good file of each kind, to be damaged. */
const text = (content: string) => new TextEncoder().encode(content);
const npyHead = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
const npy = text(`\x93NUMPY\x01\x00v\x00${npyHead.padEnd(117)}\n`);
const GOOD: Readonly<Record<string, Uint8Array>> = {
  "ids.json": text("[1, 2, 3]"),
  "ids.jsonl": text("[1,2]\n[3]\n"),
  "ids.txt": text("1 2 3\n4\n"),
  "ids.safetensors": fileBytes([{ name: "token_ids", dtype: "I32", shape: [3] }]),
  // 0x93 is two bytes in UTF-8; the format wants one.
  "ids.npy": new Uint8Array([0x93, ...npy.subarray(2), 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
};

async function readAll(path: string): Promise<number> {
  const source = await openIds(path);
  let count = 0;
  try {
    for await (const { ids } of source.chunks()) {
      for (const id of ids) assert.ok(id >= 0);
      count += ids.length;
    }
  } finally {
    source.close();
  }
  return count;
}

Deno.test("id files of any bytes: non-negative ids, or a clear error", async () => {
  await inFolder(async (folder) => {
    let good = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(GOOD)),
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string({ unit: "binary", maxLength: 60 }).map(text),
          fc.constantFrom("[", "[1,", "[[1],[2]]", "-1", "1.5", "1e3", "2147483648", "NaN", "[-0]")
            .map(text),
          fc.record({
            at: fc.double({ min: 0, max: 1, noNaN: true }),
            cut: fc.nat(8),
            put: fc.uint8Array({ maxLength: 4 }),
          }),
        ),
        async (name, how) => {
          const bytes = GOOD[name];
          let made = how as Uint8Array;
          if (!(how instanceof Uint8Array)) {
            const at = Math.floor(how.at * bytes.length);
            made = new Uint8Array([
              ...bytes.subarray(0, at),
              ...how.put,
              ...bytes.subarray(at + how.cut),
            ]);
          }
          const path = join(folder, name);
          Deno.writeFileSync(path, made);
          if (await onlyEngramErrors(() => readAll(path))) good++;
        },
      ),
      { numRuns: 700 },
    );
    assert.ok(good > 30, `some are good: ${good}`);
    for (const [name, bytes] of Object.entries(GOOD)) {
      Deno.writeFileSync(join(folder, name), bytes);
      assert.ok(await readAll(join(folder, name)) >= 3, name);
    }
  });
});
