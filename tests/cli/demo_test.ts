import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { cli } from "../run_cli.ts";

Deno.test("demo runs the main job, every step well, and keeps what was asked for", async () => {
  await inFolder(async (folder) => {
    const out = join(folder, "demo");
    const { code, json, err } = await cli("demo", "--out", out, "--json");
    assert.equal(code, 0, err);
    const steps = json().steps as { command: string; exit_code: number }[];
    const commands = steps.map(({ command }) => command.split(" ")[1]);
    assert.deepEqual(commands, ["inspect", "map", "hash", "shard", "verify", "eval"]);
    assert.ok(steps.every(({ exit_code }) => exit_code === 0));
    assert.deepEqual(namesIn(out), [
      "ids.safetensors",
      "map.safetensors",
      "model",
      "shards",
      "text.txt",
    ]);
    assert.equal(namesIn(join(out, "shards")).length, 4);
    const again = await cli("demo", "--out", out);
    assert.equal(again.code, 4);
    assert.match(again.err, /not empty/);
  });
});

Deno.test("demo prints each command line with what it found, and leaves nothing behind", async () => {
  const { code, out, err } = await cli("demo");
  assert.equal(code, 0, err);
  assert.match(out, /\$ engram inspect .*\n[^]*engram {4}layers 1, 14/);
  assert.match(out, /98,627/);
  assert.match(out, /\$ engram verify [^]*shards ok/);
  const [, folder] = out.match(/is in (\S+)\/model/)!;
  assert.throws(() => Deno.statSync(folder), Deno.errors.NotFound);
});
