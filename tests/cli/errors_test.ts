import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

const MINI = goldenPath("mini");
const PLAN = ["plan", "--tp", "2", "--gpu-memory", "1GB", "--ram", "1GB"];

/** The error of a command line that must fail so: one JSON object, and nothing on stdout. */
async function errorOf(
  code: number,
  ...args: string[]
): Promise<{ message: string; hint: string }> {
  const result = await cli(...args, "--json");
  assert.equal(result.code, code, `${args.join(" ")}\n${result.err}`);
  assert.equal(result.out, "", args.join(" "));
  const { error } = JSON.parse(result.err.trim().split("\n").at(-1)!);
  assert.equal(error.code, code);
  assert.doesNotMatch(result.err, /\.ts:\d|Internal error|\[object/);
  return error;
}

Deno.test("a checkpoint swallowed by --text: the error says so", async () => {
  const seed = ["--seed", "1"];
  for (const command of [["hash"], ["lookup"], ["eval", ...seed], PLAN]) {
    const { message, hint } = await errorOf(2, ...command, "--text", "a.txt", MINI);
    assert.match(message, /missing required argument 'checkpoint'/);
    assert.equal(hint, "--text takes every word after it: name the checkpoint before --text");
  }
  const { hint } = await errorOf(2, "hash", "--ids", "ids.npy");
  assert.match(hint, /--help/);
});

Deno.test("an output folder whose name is a file's, or lies below a file, is refused", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "file");
    Deno.writeTextFileSync(file, "kept");
    const jobs = [
      ["shard", MINI, "--tp", "2"],
      ["offload", MINI],
      ["convert", MINI, "--to", "bf16"],
      ["demo"],
    ];
    for (const job of jobs) {
      const taken = await errorOf(4, ...job, "--out", file);
      assert.match(taken.message, /^Cannot create `.*file`: it exists already and is no folder$/);
      assert.equal(taken.hint, "Choose another name");
      const below = await errorOf(4, ...job, "--out", join(file, "below"));
      assert.match(below.message, /below`: a part of the path is not a folder$/);
    }
    assert.deepEqual(namesIn(folder), ["file"]);
    assert.equal(Deno.readTextFileSync(file), "kept");
  });
});

Deno.test("an output in a folder that is not there: the hint is about the folder", async () => {
  await inFolder(async (folder) => {
    const out = join(folder, "missing", "page.html");
    const { message, hint } = await errorOf(4, "inspect", MINI, "--html", out);
    assert.equal(message, `Cannot create \`${out}\`: no such file or folder`);
    assert.equal(hint, "Make the folder it is to be in first");
  });
});

Deno.test("a path of another protocol: the hint names those that are known", async () => {
  for (const job of [["inspect"], ["layout"], ["verify"], ["map"]]) {
    const { hint } = await errorOf(4, ...job, "ftp://host/model");
    assert.equal(hint, "Wanted a path, https://… or hf://organization/name");
  }
});

Deno.test("a path that is not there is named by every command that reads one", async () => {
  const missing = join(MINI, "missing");
  const out = ["--out", join(MINI, "never")];
  const jobs = [
    ["inspect", missing],
    ["verify", missing],
    ["map", missing],
    ["layout", missing],
    ["hash", missing, "--ids", "x"],
    ["lookup", missing, "--ids", "x"],
    ["eval", missing, "--ids", "x", "--seed", "1"],
    ["shard", missing, "--tp", "2", ...out],
    ["offload", missing, ...out],
    ["convert", missing, "--to", "int8", ...out],
    ["export", missing, "--format", "json", ...out],
    ["vectors", missing, ...out],
    [...PLAN, missing],
    ["diff", missing, missing],
    ["bench", "compare", missing, missing],
    ["bench", "lookup", "--checkpoint", missing],
  ];
  for (const job of jobs) {
    const { message } = await errorOf(4, ...job);
    assert.ok(message.includes(missing), message);
  }
  assert.ok(!namesIn(MINI).includes("never"));
});

Deno.test("verify --resume without --deep is refused, not ignored", async () => {
  const { hint } = await errorOf(2, "verify", MINI, "--resume", "state");
  assert.equal(hint, "Add --deep");
});
