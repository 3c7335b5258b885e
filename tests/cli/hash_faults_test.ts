import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { npyHeader } from "../../lib/arrays/npy_header.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const CONFIG = goldenPath("mini/config.json");

/** A folder with a map and a file of `tokens` ids, all 0 and not on the disk. */
async function withIds(
  tokens: number,
  test: (folder: string, common: string[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const map = join(folder, "map.safetensors");
    const tokenizer = await realTokenizer("deepseek_v3");
    assert.equal((await cli("map", tokenizer, "--out", map)).code, 0);
    const ids = join(folder, "ids.npy");
    const header = npyHeader("<i4", [tokens]);
    await Deno.writeFile(ids, header);
    await Deno.truncate(ids, header.length + 4 * tokens);
    await test(folder, [CONFIG, "--ids", ids, "--map", map, "--quiet"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function start(flags: string[], args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", ...flags, MAIN, "hash", ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`${signal} in the middle leaves no file and ends with 130`, () =>
    // Four million tokens would be a gigabyte of JSON lines, half a minute of work.
    withIds(4_000_000, async (folder, common) => {
      const out = join(folder, "out.jsonl");
      const child = start(["-A"], [...common, "--out", out]);
      const partial = join(folder, ".out.jsonl.partial");
      // Once some rows are written.
      while (!(await Deno.stat(partial).then(({ size }) => size > 1e6, () => false))) {
        await new Promise((resume) => setTimeout(resume, 20));
      }
      child.kill(signal);
      const { code, stderr, stdout } = await child.output();
      assert.equal(code, 130, new TextDecoder().decode(stderr));
      assert.equal(stdout.length, 0);
      assert.deepEqual(namesIn(folder), ["ids.npy", "map.safetensors"]);
    }));
}

Deno.test("an output in a folder that is not there is refused before any work", () =>
  withIds(1000, async (folder, common) => {
    const out = join(folder, "nowhere", "out.safetensors");
    const result = await cli("hash", ...common, "--out", out);
    assert.equal(result.code, 4);
    assert.match(result.err, /nowhere/);
    assert.deepEqual(namesIn(folder), ["ids.npy", "map.safetensors"]);
  }));

Deno.test("ids and a map need only the permission to read, an output that to write", () =>
  withIds(1000, async (folder, common) => {
    const read = await start(["--allow-read"], common).output();
    assert.equal(read.code, 0, new TextDecoder().decode(read.stderr));
    const out = join(folder, "out.safetensors");
    const refused = await start(["--allow-read"], [...common, "--out", out]).output();
    assert.equal(refused.code, 4);
    assert.match(new TextDecoder().decode(refused.stderr), /write/);
    const flags = ["--allow-read", "--allow-write"];
    const written = await start(flags, [...common, "--out", out]).output();
    assert.equal(written.code, 0, new TextDecoder().decode(written.stderr));
    assert.ok(namesIn(folder).includes("out.safetensors"));
  }));
