import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { MUTATIONS } from "./mutations.ts";

// That the tests catch the faults is shown by `deno task mutations`, which takes minutes; here only
// that the faults can still be made.
for (const { name, file, find, replace, tests } of MUTATIONS) {
  Deno.test(`the fault can be made: ${name}`, async () => {
    const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
    const text = await Deno.readTextFile(path(file));
    assert.equal(text.split(find).length, 2, `"${find}" stands once in ${file}`);
    assert.notEqual(find, replace);
    for (const test of tests) await Deno.stat(path(test));
  });
}
