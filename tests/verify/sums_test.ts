import assert from "node:assert/strict";
import { join } from "node:path";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { checkSums } from "../../lib/verify/check_sums.ts";
import { parseSums } from "../../lib/verify/parse_sums.ts";
import { sha256Of } from "../../lib/verify/sha256_of.ts";
import { hubSum } from "../../lib/verify/hub_sums.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { rejects } from "../checkpoint/rejects.ts";

/** FIPS 180-2's examples. */
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const MILLION_A = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

Deno.test("digests are those of the standard", async () => {
  const digest = (text: string) => sha256Of(memorySource(new TextEncoder().encode(text)));
  assert.equal(await digest("abc"), ABC);
  assert.equal(await digest(""), EMPTY);
  assert.equal(await digest("a".repeat(1_000_000)), MILLION_A);
});

Deno.test("lists are read as sha256sum writes them", async () => {
  const list =
    `${ABC}  a.bin\n${EMPTY} *b c.bin\r\n\n# note\n\\${ABC}  d\\ne\\\\f\n${ABC.toUpperCase()}  ./g`;
  assert.deepEqual([...parseSums(list, "sums")], [
    ["a.bin", ABC],
    ["b c.bin", EMPTY],
    ["d\ne\\f", ABC],
    ["g", ABC],
  ]);
  for (const bad of ["abc  file", `${ABC}`, `${ABC} file`, "<!doctype html>", `${ABC}x  a`]) {
    await rejects(() => parseSums(`${ABC}  a\n${bad}`, "sums"), "malformed", "line 2");
  }
  await rejects(() => parseSums(`${ABC}  a\n${EMPTY}  a`, "sums"), "malformed", "second digest");
});

Deno.test("files are compared; wrong and missing ones are named", async () => {
  await inFolder(async (folder) => {
    for (const name of ["a", "b", "c"]) Deno.writeTextFileSync(join(folder, name), "abc");
    const check = await checkSums(
      folder,
      new Map([["a", ABC], ["b", EMPTY], ["none", ABC], ["c", ABC]]),
      "the list",
    );
    assert.equal(check.status, "mismatch");
    assert.deepEqual(check.mismatches.map(({ message }) => message), [
      "file `none` has a SHA-256 in the list, but is not there",
      `file \`b\` has SHA-256 ${ABC}, wanted ${EMPTY} (the list)`,
    ]);
    assert.equal((await checkSums(folder, new Map([["a", ABC]]), "the list")).status, "ok");
    assert.equal((await checkSums(folder, new Map(), "the list")).status, "not_checked");
    for (const out of ["../a", "/etc/passwd", "x/../../a"]) {
      await rejects(() => checkSums(folder, new Map([[out, ABC]]), "l"), "malformed", "outside");
    }
  });
});

Deno.test("a hub's own sums are found in its cache and in download folders", async () => {
  await inFolder((folder) => {
    const snapshot = join(folder, "snapshots", "rev");
    Deno.mkdirSync(snapshot, { recursive: true });
    Deno.mkdirSync(join(folder, "blobs"));
    Deno.writeTextFileSync(join(folder, "blobs", ABC), "abc");
    Deno.symlinkSync(`../../blobs/${ABC}`, join(snapshot, "big"));
    Deno.symlinkSync(
      "../../blobs/0123456789012345678901234567890123456789",
      join(snapshot, "small"),
    );
    assert.equal(hubSum(snapshot, "big"), ABC);
    assert.equal(hubSum(snapshot, "small"), null);
    assert.equal(hubSum(snapshot, "none"), null);
    const notes = join(folder, ".cache/huggingface/download");
    Deno.mkdirSync(notes, { recursive: true });
    Deno.writeTextFileSync(join(folder, "x"), "abc");
    Deno.writeTextFileSync(join(notes, "x.metadata"), `rev\n${ABC}\n1700000000.0\n`);
    Deno.writeTextFileSync(join(notes, "y.metadata"), "rev\n0123\n17\n");
    assert.equal(hubSum(folder, "x"), ABC);
    assert.equal(hubSum(folder, "y"), null);
  });
});
