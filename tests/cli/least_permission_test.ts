import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** Runs a command line with these permissions only; asking for another ends it. */
async function withOnly(flags: readonly string[], ...args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", ...flags, MAIN, ...args],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

const MINI = goldenPath("mini");

Deno.test("inspect, layout and verify need only to read", async () => {
  for (
    const args of [
      ["inspect", MINI, "--all"],
      ["layout", MINI, "--tp", "2", "--json"],
      ["verify", MINI, "--deep", "--sha256"],
    ]
  ) {
    const { code, err } = await withOnly(["--allow-read"], ...args);
    assert.equal(code, 0, `${args.join(" ")}\n${err}`);
  }
});

Deno.test("verify --resume needs to write beside its file, and says so", async () => {
  await inFolder(async (folder) => {
    const args = ["verify", MINI, "--deep", "--resume", join(folder, "state")];
    const refused = await withOnly(["--allow-read"], ...args);
    assert.equal(refused.code, 4);
    assert.match(refused.err, /permission/);
    const allowed = await withOnly(["--allow-read", `--allow-write=${folder}`], ...args);
    assert.equal(allowed.code, 0, allowed.err);
    assert.deepEqual(namesIn(folder), []);
  });
});

Deno.test("without the permission to read there is a clear error, not a prompt", async () => {
  const { code, err } = await withOnly([], "inspect", MINI);
  assert.equal(code, 4);
  assert.match(err, /permission/);
  assert.ok(!err.includes(".ts:"), err);
});
