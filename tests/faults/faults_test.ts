import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { planOffload } from "../../lib/offload/plan_offload.ts";
import { writeOffload } from "../../lib/offload/write_offload.ts";
import { planShards } from "../../lib/shards/shard_plan.ts";
import { sourceIdentities } from "../../lib/shards/source_identity.ts";
import { writeShards } from "../../lib/shards/write_shards.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { writeBigCheckpoint } from "./big_checkpoint.ts";
import { filesIn, start, stopAt } from "./running.ts";

const MINI = goldenPath("mini");
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Each job: its options, and its first file. */
const JOBS = [
  { job: "shard", options: ["--tp", "2"], first: "engram-rank-00000-of-00002.safetensors" },
  { job: "offload", options: [], first: "engram-layer-00001.safetensors" },
];

for (const { job, options, first } of JOBS) {
  const line = (model: string, out: string) => [job, model, ...options, "--out", out];

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.test(`${job}, ${signal}: ends with 130, leaves no unfinished file`, () =>
      inFolder(async (folder) => {
        // Copies are quick: a run has to last until the signal is there.
        const model = writeBigCheckpoint(join(folder, "model"), 800_000);
        const right = join(folder, "right");
        assert.equal((await start(line(model, right)).output()).code, 0);
        const wanted = filesIn(right);
        for (let run = 0;; run++) {
          assert.ok(run < 20, "no run was stopped in the middle");
          const out = join(folder, `out-${run}`);
          const { code, stdout } = await stopAt(start(line(model, out)), out, 0, signal);
          if (code !== 130) continue;
          assert.equal(stdout.length, 0);
          for (const [name, bytes] of filesIn(out)) {
            assert.ok(Buffer.from(bytes).equals(wanted.get(name)!), `${name} is left unfinished`);
          }
          return;
        }
      }));
  }

  Deno.test(`${job}: a full disk is an error that names the file, and nothing of it stays`, () =>
    inFolder(async (folder) => {
      const model = writeBigCheckpoint(join(folder, "model"));
      const out = join(folder, "out");
      // A limit on the size of files, with its signal ignored, fails writes in the same place.
      const { code, stderr } = await new Deno.Command("sh", {
        args: ["-c", `trap "" XFSZ; ulimit -f 4096; exec "$0" "$@"`, Deno.execPath()].concat(
          ["run", "-A", "--no-check", fileURLToPath(new URL("../../cli/main.ts", import.meta.url))],
          line(model, out),
        ),
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn().output();
      assert.equal(code, 4, text(stderr));
      assert.match(text(stderr), new RegExp(`error: Cannot write .*${first}`));
      assert.deepEqual(namesIn(out), []);
    }));

  Deno.test(`${job}: a disk that is too small is refused before anything is written`, async () => {
    const folder = Deno.makeTempDirSync();
    const small = join(folder, "small");
    Deno.mkdirSync(small);
    const mount = await new Deno.Command("mount", {
      args: ["-t", "tmpfs", "-o", "size=8m", "tmpfs", small],
      stderr: "null",
    }).output();
    try {
      // Only root may mount; elsewhere the test of a full disk has to do.
      if (!mount.success) return;
      const model = writeBigCheckpoint(join(folder, "model"));
      const { code, err } = await cli(...line(model, join(small, "out")));
      assert.equal(code, 4);
      assert.match(err, /\d+ bytes are free on its disk, wanted \d+[^]*Free some space/);
      assert.deepEqual(namesIn(join(small, "out")), []);
    } finally {
      if (mount.success) await new Deno.Command("umount", { args: [small] }).output();
      Deno.removeSync(folder, { recursive: true });
    }
  });

  Deno.test(`${job}: a target that cannot be written is an error of one line`, () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(join(folder, "file"), "");
      for (const out of [join(folder, "file"), join(folder, "file", "out"), "/proc/engram"]) {
        const { code, err } = await cli(...line(MINI, out));
        assert.equal(code, 4, err);
        assert.match(err, /^error: Cannot create /);
        assert.ok(err.includes(out), err);
        assert.doesNotMatch(err, /^ +at /m);
      }
    }));

  Deno.test(`${job}: a target being written by another program is left to it`, () =>
    inFolder(async (folder) => {
      const out = join(folder, "out");
      Deno.mkdirSync(out);
      using other = OutputFile.create(join(out, first));
      const { code, err } = await cli(...line(MINI, out));
      assert.equal(code, 4);
      assert.match(err, /another program is writing it at this moment/);
      other.write(new Uint8Array(1));
      assert.ok(namesIn(out).includes(`.${first}.partial`), "the other's file is still there");
    }));

  Deno.test(`${job}: two runs on one target at once end well or say why, and the result is right`, () =>
    inFolder(async (folder) => {
      const model = writeBigCheckpoint(join(folder, "model"));
      const [out, right] = [join(folder, "out"), join(folder, "right")];
      const both = [start(line(model, out)), start(line(model, out))];
      for (const { code, stderr } of await Promise.all(both.map((child) => child.output()))) {
        if (code !== 0) assert.match(text(stderr), /another program|it exists already|Cannot/);
        assert.ok(code === 0 || code === 4, `${code}: ${text(stderr)}`);
      }
      assert.equal((await start(line(model, out)).output()).code, 0);
      assert.equal((await start(line(model, right)).output()).code, 0);
      const [found, wanted] = [filesIn(out), filesIn(right)];
      assert.deepEqual([...found.keys()], [...wanted.keys()]);
      for (const [name, bytes] of found) assert.ok(Buffer.from(bytes).equals(wanted.get(name)!));
    }));

  Deno.test(`${job}: needs no more permissions than it names, and says which is missing`, () =>
    inFolder(async (folder) => {
      const model = writeBigCheckpoint(join(folder, "model"));
      const out = join(folder, "out");
      const flags = ["--allow-read", "--allow-write", "--allow-sys=statfs"];
      const named = await start(line(model, out), flags).output();
      assert.equal(named.code, 0, text(named.stderr));
      const refused = await start(line(model, join(folder, "x")), ["--allow-read"]).output();
      assert.equal(refused.code, 4);
      assert.match(text(refused.stderr), /--allow-write/);
    }));

  Deno.test(`${job}: a reader that goes away does not stop the work`, () =>
    inFolder(async (folder) => {
      const out = join(folder, "out");
      const child = start(line(MINI, out));
      await child.stdout.cancel();
      const [{ code }] = await Promise.all([child.status, child.stderr.cancel()]);
      assert.equal(code, 0);
      assert.equal(
        (await cli("verify", MINI, `--${job === "shard" ? "shards" : job}`, out)).code,
        0,
      );
    }));

  const writeChanging = async (model: string, out: string, change: (path: string) => void) => {
    const checkpoint = await openCheckpoint(model);
    try {
      const layout = buildLayout(checkpoint.config, 1000);
      const identity = await sourceIdentities(checkpoint);
      let changed = false;
      const onBytes = () => {
        if (!changed) change(join(model, "model.safetensors"));
        changed = true;
      };
      await (job === "shard"
        ? writeShards(planShards(checkpoint, layout, { tp: 2 }, identity), out, { onBytes })
        : writeOffload(planOffload(checkpoint, layout, null, identity), out, { onBytes }));
    } finally {
      checkpoint.close();
    }
  };

  for (const [what, change] of Object.entries({ shortened, overwritten })) {
    Deno.test(`${job}: a source that is ${what} meanwhile is named, and no file is finished from it`, () =>
      inFolder(async (folder) => {
        const model = writeBigCheckpoint(join(folder, "model"));
        const out = join(folder, "out");
        await assert.rejects(writeChanging(model, out, change), (error: EngramError) => {
          assert.ok(error instanceof EngramError, String(error));
          assert.ok(error.message.includes("model.safetensors"), error.message);
          return true;
        });
        assert.deepEqual(namesIn(out), []);
      }));
  }

  Deno.test(`${job}: a source whose name goes to another file meanwhile is read to its own end`, () =>
    inFolder(async (folder) => {
      const model = writeBigCheckpoint(join(folder, "model"));
      const [right, out] = [join(folder, "right"), join(folder, "out")];
      await writeChanging(model, right, () => {});
      await writeChanging(model, out, replaced);
      const [found, wanted] = [filesIn(out), filesIn(right)];
      assert.deepEqual([...found.keys()], [...wanted.keys()]);
      for (const [name, bytes] of found) assert.ok(Buffer.from(bytes).equals(wanted.get(name)!));
    }));
}

function shortened(path: string): void {
  Deno.truncateSync(path, 1_000_000);
}

function replaced(path: string): void {
  Deno.writeFileSync(`${path}.new`, new Uint8Array(Deno.statSync(path).size));
  Deno.renameSync(`${path}.new`, path);
}

function overwritten(path: string): void {
  using file = Deno.openSync(path, { write: true });
  file.seekSync(-1, Deno.SeekMode.End);
  file.writeSync(new Uint8Array(1));
}
