import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The rooms from the ground up: each imports only from itself and from those before it. */
const ROOMS = [
  "bytes",
  "workers",
  "simd",
  "safetensors",
  "checkpoint",
  "tokenizer",
  "layout",
  "hash",
  "arrays",
  "table",
  "shards",
  "offload",
  "plan",
  "verify",
  "engram",
  "exchange",
  "gpu",
  "shaders",
  "cli",
];

/** `shaders` are data that only `gpu` reads; they import nothing. */
const READS_SHADERS = "gpu";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(ROOT, folder, name));
}

/** `lib/hash/x.ts` is of room `hash`, `cli/report/x.ts` of `cli`, `lib/mod.ts` and `deno.json` of none. */
function roomOf(path: string): string | null {
  const [top, ...rest] = relative(ROOT, path).split(sep);
  const [room] = top === "lib" ? rest.splice(0, 1) : [top];
  return rest.length > 0 ? room : null;
}

/** Paths of what a file imports, by whatever syntax: all relative specifiers end in a file's name. */
function importsOf(path: string, text: string): string[] {
  const specifiers = text.matchAll(/(?:from|import\(|import|new URL\()\s*"(\.{1,2}\/[^"]+)"/g);
  return [...specifiers].map(([, specifier]) => join(path, "..", specifier));
}

/** Code alone: comments and strings may say anything. */
function codeOf(text: string): string {
  return text.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"/g, "");
}

function allowed(from: string | null, to: string | null): boolean {
  // The entries gather every room's names, and the errors are everyone's.
  if (from === null) return to !== "cli";
  if (to === null) return true;
  if (to === "shaders") return from === READS_SHADERS;
  const [user, used] = [ROOMS.indexOf(from), ROOMS.indexOf(to)];
  assert.ok(user >= 0, `room ${from} has no place in the order`);
  return used >= 0 && used <= user;
}

Deno.test("each room imports only from the rooms before it", async () => {
  const wrong: string[] = [];
  let imports = 0;
  for (const path of [...sources("lib"), ...sources("cli")]) {
    for (const used of importsOf(path, await Deno.readTextFile(path))) {
      imports++;
      if (allowed(roomOf(path), roomOf(used))) continue;
      wrong.push(`${relative(ROOT, path)} imports ${relative(ROOT, used)}`);
    }
  }
  assert.ok(imports > 1000, `found ${imports} imports`);
  assert.deepEqual(wrong, []);
});

Deno.test("a room imports the entries of the library nowhere", async () => {
  for (const path of sources("lib").filter((path) => roomOf(path) !== null)) {
    const entries = importsOf(path, await Deno.readTextFile(path))
      .filter((used) => roomOf(used) === null && !used.endsWith(`${sep}errors.ts`));
    assert.deepEqual(entries, [], relative(ROOT, path));
  }
});

Deno.test("the library prints nothing, ends nothing, and asks Deno for files alone", async () => {
  for (const path of sources("lib")) {
    const code = codeOf(await Deno.readTextFile(path));
    const name = relative(ROOT, path);
    assert.doesNotMatch(code, /\bconsole\s*\.|\bDeno\s*\.\s*(?:exit|stdout|stderr)\b/, name);
    assert.doesNotMatch(code, /\bprocess\s*\.\s*(?:exit|stdout|stderr)\b/, name);
    if (roomOf(path) !== "bytes") assert.doesNotMatch(code, /\bDeno\s*\./, name);
  }
});
