import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FLEET = join(ROOT, "examples", "fleet");
const MINI = goldenPath("mini");
const TOKENIZER = await realTokenizer("deepseek_v3");
const ENGRAM = `${Deno.execPath()} run -A --no-check ${join(ROOT, "cli", "main.ts")}`;

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Job {
  spec: {
    completionMode: string;
    completions: number;
    parallelism: number;
    template: {
      spec: {
        containers: {
          command: string[];
          env: { name: string; value: string }[];
          volumeMounts: { name: string }[];
        }[];
        volumes: { name: string }[];
      };
    };
  };
}

/** Runs a script with nothing in its environment but `env`, as a fresh pod or task has it. */
async function runScript(path: string, env: Record<string, string>): Promise<string> {
  const { PATH, HOME, DENO_DIR } = Deno.env.toObject();
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: [path],
    clearEnv: true,
    env: { PATH, HOME, ...(DENO_DIR && { DENO_DIR }), ...env },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Runs every pod of an Indexed Job at once, as Kubernetes would, with some values replaced. */
async function runJob(file: string, values: Record<string, string>, completions: number) {
  const { spec }: Job = parse(await Deno.readTextFile(join(FLEET, file)));
  assert.equal(spec.completionMode, "Indexed");
  assert.equal(spec.parallelism, spec.completions);
  const { containers: [container], volumes } = spec.template.spec;
  assert.deepEqual(container.volumeMounts.map(({ name }) => name), volumes.map(({ name }) => name));
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  // The number of ranks or parts is the number of pods.
  assert.equal(Number(env.RANKS ?? env.PARTS), spec.completions);
  for (const name of Object.keys(values)) assert.ok(name in env, `${name} is set in ${file}`);
  const script = container.command[0].replace("/opt/engram/examples/fleet", FLEET);
  await Promise.all(
    Array.from(
      { length: completions },
      (_, index) =>
        runScript(script, { ...env, ...values, ENGRAM, JOB_COMPLETION_INDEX: String(index) }),
    ),
  );
}

/** The `#SBATCH` settings of a batch script. */
async function sbatch(file: string): Promise<Map<string, string>> {
  const text = await Deno.readTextFile(join(FLEET, file));
  return new Map(
    [...text.matchAll(/^#SBATCH --([a-z-]+)=(.*)$/gm)].map((match) => [match[1], match[2]]),
  );
}

/** Runs a batch script of one task whose `srun` starts `tasks` processes, as Slurm would. */
async function runSbatch(file: string, tasks: number, env: Record<string, string>, folder: string) {
  const bin = join(folder, "bin");
  await Deno.mkdir(bin);
  const srun = [
    "#!/bin/sh",
    "set -eu",
    "pids=",
    'for rank in $(seq 0 $((SLURM_NTASKS - 1))); do SLURM_PROCID=$rank "$@" & pids="$pids $!"; done',
    "for pid in $pids; do wait $pid; done",
  ];
  await Deno.writeTextFile(join(bin, "srun"), srun.join("\n"), { mode: 0o755 });
  await runScript(join(FLEET, file), {
    ...env,
    ENGRAM,
    PATH: `${bin}:${Deno.env.get("PATH")}`,
    SLURM_NTASKS: String(tasks),
    SLURM_PROCID: "0",
    SLURM_SUBMIT_DIR: FLEET,
  });
}

async function assertShards(shards: string, ranks: number): Promise<void> {
  const names = [...Deno.readDirSync(shards)].map((entry) => entry.name).sort();
  const count = String(ranks).padStart(5, "0");
  assert.deepEqual(
    names.filter((name) => name.endsWith(".safetensors")),
    Array.from(
      { length: ranks },
      (_, rank) => `engram-rank-${String(rank).padStart(5, "0")}-of-${count}.safetensors`,
    ),
  );
  const verified = await cli("verify", MINI, "--shards", shards, "--json");
  assert.equal(verified.code, 0, verified.err + verified.out);
}

Deno.test("the Kubernetes job makes every rank's shard, each pod its own", () =>
  inFolder(async (folder) => {
    await runJob("shard.job.yaml", { CHECKPOINT: MINI, SHARDS: folder, RANKS: "3" }, 3);
    await assertShards(folder, 3);
  }));

Deno.test("the Slurm job makes every rank's shard, each process its own", () =>
  inFolder(async (folder) => {
    const settings = await sbatch("shard.sbatch");
    assert.equal(Number(settings.get("nodes")) * Number(settings.get("ntasks-per-node")), 8);
    assert.equal(settings.get("ntasks"), "8");
    const shards = join(folder, "shards");
    await runSbatch("shard.sbatch", 3, { CHECKPOINT: MINI, SHARDS: shards }, folder);
    await assertShards(shards, 3);
  }));

/** Serves the files of `folder` by ranges, as an object store does, and counts the bytes it sent. */
async function withStore(
  folder: string,
  test: (url: string, sent: () => number) => Promise<void>,
): Promise<void> {
  let sent = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const file = join(folder, decodeURIComponent(new URL(request.url).pathname));
    const bytes = await Deno.readFile(file).catch(() => null);
    if (!bytes) return new Response("not here", { status: 404 });
    const headers = { "accept-ranges": "bytes", etag: `"${bytes.length}"` };
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
    const end = range ? Math.min(Number(range[2]) + 1, bytes.length) : bytes.length;
    const body = range ? bytes.slice(Number(range[1]), end) : bytes;
    if (request.method === "HEAD") {
      return new Response(null, { headers: { ...headers, "content-length": String(body.length) } });
    }
    sent += body.length;
    if (!range) return new Response(body, { headers });
    const contentRange = `bytes ${range[1]}-${end - 1}/${bytes.length}`;
    return new Response(body, {
      status: 206,
      headers: { ...headers, "content-range": contentRange },
    });
  });
  try {
    await test(`http://127.0.0.1:${server.addr.port}`, () => sent);
  } finally {
    await server.shutdown();
  }
}

Deno.test("from an object store a rank reads its own rows, and makes the same shard", () =>
  inFolder((folder) =>
    withStore(MINI, async (url, sent) => {
      const [near, far] = [join(folder, "near"), join(folder, "far")];
      const env = { ENGRAM, RANKS: "4", JOB_COMPLETION_INDEX: "2" };
      const script = join(FLEET, "shard.sh");
      await runScript(script, { ...env, CHECKPOINT: MINI, SHARDS: near });
      await runScript(script, { ...env, CHECKPOINT: url, SHARDS: far });
      const name = "engram-rank-00002-of-00004.safetensors";
      const [a, b] = [new TensorFile(join(near, name)), new TensorFile(join(far, name))];
      assert.deepEqual(a.names, b.names);
      for (const tensor of a.names.filter((name) => name.endsWith("embed.weight"))) {
        assert.deepEqual(b.get(tensor, "F8_E4M3"), a.get(tensor, "F8_E4M3"));
      }
      // Every rank takes the projections and gates whole; of the tables, a quarter and no more.
      const projections = 2 * (320 * 1536 + 10 * 48 + 2 * 4 * 64 * 2);
      const tables = (3698 + 6938) * (64 + 2);
      const headers = 16_384;
      const read = sent() - projections - headers;
      assert.ok(read < 0.3 * tables, `${read} of ${tables} bytes`);
    })
  ));

async function corpusIn(folder: string): Promise<string> {
  const corpus = join(folder, "corpus");
  await Deno.mkdir(corpus);
  const words = goldenTensors("mini/expected.safetensors").metadata.text.split(" ");
  for (let i = 0; i < 6; i++) {
    await Deno.writeTextFile(join(corpus, `${i}.txt`), words.slice(i, 4 * i).join(" "));
  }
  return corpus;
}

async function assertHashes(hashes: string, parts: number, corpus: string): Promise<void> {
  const whole = join(dirname(corpus), "whole.safetensors");
  const common = ["--text", corpus, "--tokenizer", TOKENIZER, "--quiet", "--out", whole];
  assert.equal((await cli("hash", MINI, ...common)).code, 0);
  const files = Array.from(
    { length: parts },
    (_, i) => new TensorFile(join(hashes, `part-${String(i).padStart(5, "0")}.safetensors`)),
  );
  for (const name of ["token_ids", "hash_ids"]) {
    const joined = files.flatMap((file) => Array.from(file.get(name, "I32").values));
    assert.deepEqual(joined, Array.from(new TensorFile(whole).get(name, "I32").values));
  }
}

Deno.test("the Kubernetes job hashes a corpus in parts whose union is the whole", () =>
  inFolder(async (folder) => {
    const corpus = await corpusIn(folder);
    const config = join(MINI, "config.json");
    const values = { CHECKPOINT: config, TOKENIZER, CORPUS: corpus, HASHES: folder, PARTS: "3" };
    await runJob("hash.job.yaml", values, 3);
    await assertHashes(folder, 3, corpus);
  }));

Deno.test("the Slurm array hashes a corpus in parts whose union is the whole", () =>
  inFolder(async (folder) => {
    const corpus = await corpusIn(folder);
    assert.equal((await sbatch("hash.sbatch")).get("array"), "0-15");
    const env = { CHECKPOINT: MINI, TOKENIZER, CORPUS: corpus, HASHES: folder };
    await Promise.all([0, 1].map((task) =>
      runScript(join(FLEET, "hash.sbatch"), {
        ...env,
        ENGRAM,
        SLURM_SUBMIT_DIR: FLEET,
        SLURM_ARRAY_TASK_COUNT: "2",
        SLURM_ARRAY_TASK_ID: String(task),
        SLURM_PROCID: "0",
      })
    ));
    await assertHashes(folder, 2, corpus);
  }));

Deno.test("without a rank the scripts say what is missing", async () => {
  const { code, stderr } = await new Deno.Command("sh", {
    args: [join(FLEET, "shard.sh")],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH")! },
  }).output();
  assert.notEqual(code, 0);
  assert.match(new TextDecoder().decode(stderr), /no rank: run by a Kubernetes Indexed Job/);
});
