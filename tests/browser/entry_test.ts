import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

interface Graph {
  readonly modules: { specifier: string; local?: string; dependencies?: { specifier: string }[] }[];
}

Deno.test("the browser's entry imports nothing of Deno's or Node's, down to the last module", async () => {
  const entry = fileURLToPath(new URL("../../lib/browser.ts", import.meta.url));
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", entry] })
    .output();
  const { modules }: Graph = JSON.parse(new TextDecoder().decode(stdout));
  const own = modules.filter(({ specifier }) => specifier.startsWith("file:"));
  assert.ok(own.length > 60, `found ${own.length} modules`);
  for (const { specifier, dependencies = [] } of own) {
    const builtIn = dependencies.find(({ specifier }) => specifier.startsWith("node:"));
    assert.equal(builtIn, undefined, `${specifier} imports ${builtIn?.specifier}`);
    const text = await Deno.readTextFile(fileURLToPath(specifier));
    const code = text.replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
    assert.doesNotMatch(code, /\bDeno\s*\./, specifier);
  }
});
