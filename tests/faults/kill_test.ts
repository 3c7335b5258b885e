/**
 * `shard` and `offload` killed at random points: ten times here, 200 times with ENGRAM_LONG=1.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { writeBigCheckpoint } from "./big_checkpoint.ts";
import { bytesIn, filesIn, start, startSlowly, stopAt } from "./running.ts";

const KILLS = Deno.env.get("ENGRAM_LONG") ? 100 : 5;
const MARKER = "engram-offload.finished";

const JOBS = {
  shard: ["--tp", "3", "--dp", "2", "--split", "strided"],
  offload: [],
};

for (const [job, options] of Object.entries(JOBS)) {
  Deno.test(`${job} killed ${KILLS} times at random points is finished by running it again`, () =>
    inFolder(async (folder) => {
      const line = [job, writeBigCheckpoint(join(folder, "model")), ...options, "--out"];
      const right = join(folder, "right");
      const first = await start([...line, right]).output();
      assert.equal(first.code, 0, new TextDecoder().decode(first.stderr));
      const wanted = filesIn(right);
      const total = bytesIn(right);
      let kills = 0;
      for (let run = 0; kills < KILLS; run++) {
        assert.ok(run < 20 * KILLS, `only ${kills} of ${run} runs were killed in the middle`);
        const out = join(folder, `out-${run}`);
        const killed = await stopAt(
          startSlowly([...line, out]),
          out,
          Math.floor(Math.random() * total) - 1,
          "SIGKILL",
        );
        if (killed.signal !== "SIGKILL") continue;
        kills++;
        checkLeftover(out, wanted);
        const again = await start([...line, out, "--quiet"]).output();
        assert.equal(again.code, 0, new TextDecoder().decode(again.stderr));
        assertSame(filesIn(out), wanted);
        Deno.removeSync(out, { recursive: true });
      }
    }));
}

/** What bears a final name is right, and only what is whole bears the marker. */
function checkLeftover(out: string, wanted: Map<string, Uint8Array>): void {
  const found = filesIn(out);
  for (const [name, bytes] of found) {
    if (name.startsWith(".") && name.endsWith(".partial")) continue;
    assert.ok(wanted.has(name), `${name} is left`);
    assert.ok(Buffer.from(bytes).equals(wanted.get(name)!), `${name} looks finished, but is not`);
  }
  if (found.has(MARKER)) { for (const name of wanted.keys()) assert.ok(found.has(name), name); }
}

function assertSame(found: Map<string, Uint8Array>, wanted: Map<string, Uint8Array>): void {
  assert.deepEqual([...found.keys()], [...wanted.keys()]);
  for (const [name, bytes] of found) {
    assert.ok(Buffer.from(bytes).equals(wanted.get(name)!), `${name} is not right`);
  }
}
