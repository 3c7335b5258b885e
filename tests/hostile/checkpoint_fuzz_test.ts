import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { survey } from "../../lib/verify/survey.ts";
import { verifyStructure } from "../../lib/verify/verify_structure.ts";
import { inFolder } from "../bytes/in_folder.ts";
import {
  fileBytes,
  smallTensors,
  weightMap,
  writeCheckpoint,
} from "../checkpoint/small_checkpoint.ts";
import { onlyEngramErrors } from "./only_engram_errors.ts";

const ONE = "model.safetensors";
const FILES = ["config.json", "model.safetensors.index.json", ONE];

/** Some bytes of a file replaced, put in or cut out, or the file cut short. */
const damage = fc.record({
  file: fc.constantFrom(...FILES),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.integer({ min: 0, max: 40 }),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom('"', "{", "}", "[", "]", ",", ":", "0", "9", "-", "e", "..", "null", "\\u0000")
      .map((text) => new TextEncoder().encode(text)),
  ),
  // As many bytes in as out: what follows stays where it was.
  same: fc.boolean(),
  short: fc.nat(7).map((n) => n === 0),
});

Deno.test("damaged checkpoints open, or fail with a clear error; verify too", async () => {
  await inFolder(async (folder) => {
    const files = { [ONE]: smallTensors() };
    writeCheckpoint(folder, { files, index: true });
    const whole = new Map(FILES.map((name) => [name, Deno.readFileSync(join(folder, name))]));
    let good = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 2 }), async (damages) => {
        for (const [name, bytes] of whole) Deno.writeFileSync(join(folder, name), bytes);
        for (const { file, at, cut, put, same, short } of damages) {
          const bytes = Deno.readFileSync(join(folder, file));
          // Mostly in the header of a tensor file: its data is zeros anyway.
          const start = Math.floor(at * Math.min(bytes.length, 2500));
          const rest = short
            ? new Uint8Array(0)
            : bytes.subarray(start + (same ? put.length : cut));
          const made = new Uint8Array([...bytes.subarray(0, start), ...put, ...rest]);
          Deno.writeFileSync(join(folder, file), made);
        }
        if (await onlyEngramErrors(async () => (await openCheckpoint(folder)).close())) good++;
        await onlyEngramErrors(async () => {
          const found = await survey(folder);
          verifyStructure(found);
          found.close();
        });
      }),
      { numRuns: 250 },
    );
    assert.ok(good > 0, `some damage is harmless: ${good}`);
  });
});

Deno.test("an index of any shape: a checkpoint, or a clear error", async () => {
  const files = { [ONE]: smallTensors() };
  const names = Object.keys(weightMap(files));
  const file = fc.oneof(
    fc.constantFrom(ONE, "../x.safetensors", "a/b.safetensors", "/x.safetensors", "x", "\0"),
    fc.string(),
    fc.jsonValue(),
  );
  await inFolder(async (folder) => {
    writeCheckpoint(folder, { files });
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.oneof(fc.constantFrom(...names, "__proto__"), fc.string()), file, {
          maxKeys: 20,
        }),
        fc.jsonValue(),
        fc.boolean(),
        async (map, metadata, whole) => {
          const weight_map = whole ? { ...weightMap(files), ...map } : map;
          const path = join(folder, "model.safetensors.index.json");
          Deno.writeTextFileSync(path, JSON.stringify({ metadata, weight_map }));
          await onlyEngramErrors(async () => (await openCheckpoint(folder)).close());
        },
      ),
      { numRuns: 200 },
    );
  });
});

Deno.test("tensors of any dtype and shape under Engram's names: a checkpoint, or a clear error", async () => {
  const dtypes = ["F8_E4M3", "F8_E8M0", "U8", "I8", "BF16", "F16", "F32", "I64", "F64"];
  const parts = [
    "embed.weight",
    "embed.scale",
    "embed_tokens.weight",
    "wkv.weight",
    "q_weight",
    "x",
  ];
  const tensor = fc.record({
    name: fc.tuple(
      fc.constantFrom("", "model."),
      fc.constantFrom(1, 3, 7),
      fc.constantFrom(...parts),
    )
      .map(([prefix, layer, part]) => `${prefix}layers.${layer}.engram.${part}`),
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 3 }),
  });
  await inFolder(async (folder) => {
    writeCheckpoint(folder, {});
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(tensor, { maxLength: 8, selector: ({ name }) => name }),
        fc.boolean(),
        async (tensors, replace) => {
          const kept = replace
            ? smallTensors().filter(({ name }) => !tensors.some((t) => t.name === name))
            : [];
          Deno.writeFileSync(join(folder, ONE), fileBytes([...kept, ...tensors]));
          await onlyEngramErrors(async () => (await openCheckpoint(folder)).close());
          await onlyEngramErrors(async () => (await openCheckpoint(join(folder, ONE))).close());
          await onlyEngramErrors(async () => (await survey(folder)).close());
        },
      ),
      { numRuns: 200 },
    );
  });
});
