import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { smallTensors, writeCheckpoint } from "../checkpoint/small_checkpoint.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

const ONE = "model.safetensors";

Deno.test("verify --deep of the golden checkpoint finds nothing and counts everything", async () => {
  const { code, out } = await cli("verify", goldenPath("mini"), "--deep");
  assert.equal(code, 0);
  assert.match(out, /structure ok, map not checked, shards not checked, content ok/);
  assert.match(out, /^23 \(4-gram head 7\) +223 /m);
  const { content } = (await cli("verify", goldenPath("mini"), "--deep", "--json")).json();
  const [table] = content;
  assert.equal(table.tensor, "layers.1.engram.embed.weight");
  assert.deepEqual(
    table.columns.map(({ rows }: { rows: number }) => rows).slice(0, 4),
    [97, 101, 103, 107],
  );
  // Counted by another program: code 225 is the most frequent, scale 122 as well.
  const sum = (key: string, i: number) =>
    table.columns.reduce(
      (all: number, column: Record<string, number[]>) => all + column[key][i],
      0,
    );
  assert.equal(sum("value_histogram", 225), 6243);
  assert.equal(sum("value_histogram", 97), 6237);
  assert.equal(sum("scale_histogram", 122), 1316);
});

Deno.test("verify --deep names NaN codes and bad scales and ends with 5", async () => {
  await inFolder(async (folder) => {
    const bad = smallTensors().map((tensor) => {
      const size = tensor.shape.reduce((a, b) => a * b, tensor.dtype === "BF16" ? 2 : 1);
      const data = new Uint8Array(size).map((_, i) => 1 + i % 100);
      if (tensor.name === "layers.3.engram.embed.weight") data[87 * 32] = 0x7f;
      return { ...tensor, data };
    });
    const place = writeCheckpoint(folder, { files: { [ONE]: bad } });
    const { code, out, err } = await cli("verify", place, "--deep");
    assert.equal(code, 5);
    const found = 'tensor "layers.3.engram.embed.weight", 3-gram head 1: 1 row holds NaN codes ' +
      "(0x7f or 0xff) (row 87)";
    assert.ok(out.includes(`mismatch (content): ${found}`), out);
    assert.ok(err.includes(found), err);
    assert.equal((await cli("verify", place)).code, 0, "its structure is fine");
  });
});

Deno.test("verify --resume goes on from its state, refuses another file, and cleans up", async () => {
  await inFolder(async (folder) => {
    const state = join(folder, "state");
    const args = ["verify", goldenPath("mini"), "--deep", "--resume", state];
    assert.equal((await cli(...args)).code, 0);
    assert.deepEqual([...Deno.readDirSync(folder)], [], "nothing is left when it is done");
    Deno.writeTextFileSync(state, "my notes");
    const { code, err } = await cli(...args);
    assert.equal(code, 3);
    assert.match(err, /it is no state of a deep verification/);
    assert.equal(Deno.readTextFileSync(state), "my notes");
    Deno.writeTextFileSync(state, '{"engram_scan":1,"identity":"x","done":[],"jobs":[]}');
    const anew = await cli(...args);
    assert.equal(anew.code, 0);
    assert.match(anew.err, /starting anew/);
  });
});

Deno.test("verify --sha256 compares with a list or the hub's own sums", async () => {
  await inFolder(async (folder) => {
    const place = writeCheckpoint(join(folder, "model"), { files: { [ONE]: smallTensors() } });
    const digest = createHash("sha256").update(Deno.readFileSync(join(place, ONE))).digest("hex");
    const list = join(folder, "SHA256SUMS");
    Deno.writeTextFileSync(list, `${digest}  ${ONE}\n`);
    const good = await cli("verify", place, "--sha256", list);
    assert.equal(good.code, 0, good.err);
    assert.match(good.out, /sha256 +ok +1 files against/);
    Deno.writeTextFileSync(list, `${digest.replace(/^./, (c) => c === "0" ? "1" : "0")}  ${ONE}\n`);
    const bad = await cli("verify", place, "--sha256", list);
    assert.equal(bad.code, 5);
    assert.match(bad.err, new RegExp(`model.safetensors. has SHA-256 ${digest}, wanted`));
    const none = await cli("verify", place, "--sha256");
    assert.equal(none.code, 0);
    assert.match(
      none.out,
      /sha256 +not checked +no SHA-256 for any file here in the sums of the hub's cache/,
    );
    assert.equal((await cli("verify", place, "--sha256", join(folder, "no"))).code, 4);
  });
});

Deno.test("verify --deep names a column that was overwritten with other data", async () => {
  await inFolder(async (folder) => {
    for (const { name } of Deno.readDirSync(goldenPath("mini"))) {
      if (name !== "expected.safetensors") {
        Deno.copyFileSync(join(goldenPath("mini"), name), join(folder, name));
      }
    }
    const report = (await cli("inspect", folder, "--json")).json();
    const embed = report.engram_tensors.find(({ name }: { name: string }) =>
      name === "layers.14.engram.embed.weight"
    );
    // Column 13 of layer 14, a 3-gram's head 5, has rows 3321 … 3613 of 64 codes.
    const file = join(folder, embed.file);
    const bytes = Deno.readFileSync(file);
    const begin = embed.offset + 3321 * 64;
    for (let i = 0; i < 293 * 64; i++) bytes[begin + i] = 16 + i * 37 % 96;
    Deno.writeFileSync(file, bytes);
    const { code, out } = await cli("verify", folder, "--deep");
    assert.equal(code, 0, "odd, but nothing that engines read differently");
    const odd = out.split("\n").filter((line) => line.startsWith("odd:"));
    assert.equal(odd.length, 1, out);
    assert.match(odd[0], /"layers\.14\.engram\.embed\.weight", 3-gram head 5: distributed unlike/);
    assert.match(out, /^13 \(3-gram head 5\) .* 0\.\d{3} ! /m);
  });
});
