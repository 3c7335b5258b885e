import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ABOUT } from "../../cli/command.ts";
import { program } from "../../cli/run.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const MINI = goldenPath("mini");
const IDS = goldenPath("mini/expected.safetensors");

/** Runs a command line with these permissions only; asking for another ends it. */
async function withOnly(flags: readonly string[], ...args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", ...flags, MAIN, ...args],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** The flags a command documents: those it always needs, and those of the cases named. */
function documented(name: string, cases: readonly RegExp[] = []): string[] {
  const { permissions } = ABOUT.get(program().commands.find((c) => c.name() === name)!)!;
  for (const one of cases) {
    assert.ok(permissions.some(([, when]) => when && one.test(when)), `${name} documents ${one}`);
  }
  return permissions
    .filter(([, when]) => when === undefined || cases.some((one) => one.test(when)))
    .flatMap(([flags]) => flags.split(" "));
}

/** A command line, and the cases of its documented permissions that it falls under. */
type Job = readonly [args: readonly string[], ...cases: RegExp[]];

async function succeeds([args, ...cases]: Job): Promise<void> {
  const flags = documented(args[0], cases);
  assert.ok(!flags.includes("--allow-net"), args[0]);
  const { code, err } = await withOnly(flags, ...args);
  assert.equal(code, 0, `${flags.join(" ")}: ${args.join(" ")}\n${err}`);
}

/** Runs the job without each of its flags but those of `spared`: it must say which one it lacks. */
async function needsEachFlag([args, ...cases]: Job, spared: readonly string[]): Promise<void> {
  const flags = documented(args[0], cases);
  for (const flag of flags.filter((flag) => !spared.includes(flag))) {
    const { code, out, err } = await withOnly(flags.filter((other) => other !== flag), ...args);
    const which = `${args.join(" ")} without ${flag}\n${err}`;
    assert.equal(code, 4, which);
    assert.equal(out, "", which);
    assert.match(err, /permission/i, which);
    assert.ok(!err.includes(".ts:"), which);
  }
}

Deno.test("every command runs with the permissions it documents, and not without", async () => {
  await inFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    const map = at("map.safetensors");
    const tokenizer = await realTokenizer("deepseek_v3");
    const tokens = ["--ids", IDS, "--map", map];
    const plan = ["plan", MINI, "--tp", "2", "--gpu-memory", "1MB", "--ram", "1GB"];
    const bench = ["bench", "lookup", "--table", "1MB", "--tokens", "1", "--samples", "1"];
    const stages: readonly (readonly Job[])[] = [
      [[["map", tokenizer, "--out", map], /--out/]],
      [
        [["inspect", MINI, "--all"]],
        [["inspect", MINI, "--html", at("inspect.html")], /--html/],
        [["layout", MINI, "--tp", "2", "--map", map]],
        [["hash", MINI, ...tokens]],
        [["hash", MINI, ...tokens, "--out", at("hash.npy")], /--out/],
        [["lookup", MINI, ...tokens, "--device", "cpu", "--readers", "2"]],
        [["lookup", MINI, ...tokens, "--out", at("rows.safetensors")], /--out/],
        [["eval", MINI, ...tokens, "--seed", "1"]],
        [["eval", MINI, ...tokens, "--seed", "1", "--html", at("eval.html")], /--out/],
        [["export", MINI, "--format", "json", "--out", at("map.json"), "--tokenizer", tokenizer]],
        [["convert", MINI, "--to", "packed", "--out", at("packed")]],
        [["vectors", MINI, "--tokenizer", tokenizer, "--out", at("vectors")]],
        [["shard", MINI, "--tp", "2", "--out", at("shards")]],
        [["offload", MINI, "--out", at("offload")]],
        [plan],
        [[...plan, ...tokens, "--svg", at("plan.svg")], /--svg/],
        [["verify", MINI, "--deep", "--sha256", "--workers", "2"]],
        [["verify", MINI, "--deep", "--resume", at("state")], /--resume/],
        [["doctor"]],
        [["completions", "bash"]],
        [["demo"]],
        [[...bench, "--warmup", "0", "--out", at("bench.json"), "--format", "json"], /compare/],
      ],
      [
        [["verify", MINI, "--shards", at("shards"), "--offload", at("offload")]],
        [["diff", at("vectors"), at("vectors")]],
        [["bench", "compare", at("bench.json"), at("bench.json")]],
      ],
    ];
    const seen = stages.flat().map(([[name]]) => name);
    for (const command of program().commands) {
      const name = command.name();
      assert.ok(name === "help" || seen.includes(name), `${name} is tried`);
    }
    // Two at once: one alone leaves a core idle.
    for (const stage of stages) {
      for (let i = 0; i < stage.length; i += 2) {
        await Promise.all(stage.slice(i, i + 2).map(succeeds));
      }
    }
    assert.ok(!namesIn(folder).includes("state"), "a finished check leaves no state");
  });
});

Deno.test("without a permission a command names it, and writes nothing", async () => {
  await inFolder(async (folder) => {
    const out = ["--out", join(folder, "out")];
    await needsEachFlag([["inspect", MINI]], []);
    await needsEachFlag([["shard", MINI, "--tp", "2", ...out]], []);
    await needsEachFlag([["offload", MINI, ...out]], []);
    await needsEachFlag([["convert", MINI, "--to", "bf16", ...out]], []);
    await needsEachFlag([["verify", MINI, "--deep", "--resume", out[1]], /--resume/], []);
    await needsEachFlag([["demo"]], []);
    assert.deepEqual(namesIn(folder), []);
  });
});

Deno.test("mapping tables needs --allow-ffi, and says so", async () => {
  await inFolder(async (folder) => {
    const rows = join(folder, "rows.json");
    Deno.writeTextFileSync(rows, '{"1": [0, 5]}');
    const args = ["lookup", MINI, "--rows", rows, "--device", "cpu", "--backend", "mapped"];
    await succeeds([args, /--backend mapped/]);
    const { code, out, err } = await withOnly(documented("lookup"), ...args);
    assert.equal(code, 4);
    assert.equal(out, "");
    assert.match(err, /Cannot map .*: memory maps need --allow-ffi/);
  });
});

Deno.test("an output of 16 MiB needs to ask for the free space, and says so", async () => {
  await inFolder(async (folder) => {
    const ids = join(folder, "ids.txt");
    Deno.writeTextFileSync(ids, "1\n".repeat(1 << 17));
    const map = join(folder, "map.safetensors");
    const made = await withOnly(
      ["--allow-read", "--allow-write"],
      ...["map", await realTokenizer("deepseek_v3"), "--out", map],
    );
    assert.equal(made.code, 0, made.err);
    const out = ["--out", join(folder, "rows.safetensors")];
    const job: Job = [["hash", MINI, "--ids", ids, "--map", map, ...out], /--out/, /16 MiB/];
    await needsEachFlag(job, ["--allow-read", "--allow-write"]);
    await succeeds(job);
  });
});

Deno.test("texts are tokenized the same without the native library, which is told", async () => {
  await inFolder(async (folder) => {
    const text = join(folder, "text.txt");
    Deno.writeTextFileSync(text, "An n-gram is a run of n tokens.\n");
    const tokenizer = await realTokenizer("deepseek_v3");
    const args = ["hash", MINI, "--text", text, "--tokenizer", tokenizer];
    const native = await withOnly(documented("hash", [/native/]), ...args);
    const script = await withOnly(documented("hash"), ...args);
    assert.equal(native.code, 0, native.err);
    assert.equal(script.code, 0, script.err);
    assert.equal(script.out, native.out);
    assert.match(script.err, /in JavaScript.*--allow-env --allow-ffi/);
    assert.doesNotMatch(native.err, /JavaScript/);
  });
});

Deno.test("a URL needs the network and the environment", async () => {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, serveMini);
  try {
    const url = `http://127.0.0.1:${server.addr.port}`;
    const job: Job = [["inspect", url], /URL/];
    const flags = documented("inspect", [/URL/]);
    const allowed = await withOnly(flags, ...job[0]);
    assert.equal(allowed.code, 0, allowed.err);
    await needsEachFlag(job, ["--allow-read"]);
  } finally {
    await server.shutdown();
  }
});

/** The golden checkpoint with byte ranges. */
function serveMini(request: Request): Response {
  const name = new URL(request.url).pathname.slice(1);
  if (!namesIn(MINI).includes(name)) return new Response(null, { status: 404 });
  const bytes = Deno.readFileSync(join(MINI, name));
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
  if (!range) return new Response(bytes);
  const [begin, last] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)];
  return new Response(bytes.subarray(begin, last + 1), {
    status: 206,
    headers: { "content-range": `bytes ${begin}-${last}/${bytes.length}`, etag: '"mini"' },
  });
}

Deno.test("without the permission to read there is a clear error, not a prompt", async () => {
  const { code, err } = await withOnly([], "inspect", MINI);
  assert.equal(code, 4);
  assert.match(err, /permission/);
  assert.ok(!err.includes(".ts:"), err);
});
