import assert from "node:assert/strict";
import { join } from "node:path";
import { distinct, idStream } from "../../../cli/bench/id_streams.ts";
import type { BenchResult } from "../../../cli/bench/record.ts";
import { goldenPath } from "../../golden/golden_data.ts";
import { inFolder } from "../../bytes/in_folder.ts";
import { SMALL_CONFIG, writeCheckpoint } from "../../checkpoint/small_checkpoint.ts";
import { cli } from "../../run_cli.ts";

const MINI = goldenPath("mini");
const QUICK = ["--samples", "5", "--warmup", "1", "--device", "cpu"];

Deno.test("bench hash --json is a record with raw samples, work and a baseline", async () => {
  const { code, json } = await cli("bench", "hash", "--tokens", "3", "--json", ...QUICK);
  assert.equal(code, 0);
  const record = json();
  assert.equal(record.format, 1);
  assert.ok(record.machine.cores >= 1);
  const [ours, baseline] = record.results;
  assert.equal(ours.role, "case");
  assert.equal(baseline.role, "baseline");
  assert.equal(ours.samples.length, 5);
  assert.ok(ours.samples.every((seconds: number) => seconds > 0 && seconds < 10));
  // The released layout: 2 layers of 24 columns; 4 bytes in, 48 * 4 out for each token.
  assert.deepEqual([ours.work.tokens, ours.work.rows, ours.work.bytes], [3, 144, 588]);
});

Deno.test("two written records compare, and a missing or foreign one is refused", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [a, b] = ["a.json", "b.json"].map((name) => join(folder, name));
    const made = await cli(
      "bench",
      "hash",
      "--tokens",
      "3",
      ...QUICK,
      "--format",
      "json",
      "--out",
      a,
    );
    assert.equal(made.code, 0);
    const record = JSON.parse(Deno.readTextFileSync(a));
    for (const result of record.results) {
      result.samples = result.samples.map((seconds: number) => seconds * 10);
    }
    Deno.writeTextFileSync(b, JSON.stringify(record));
    const compared = await cli("bench", "compare", a, b, "--json");
    assert.equal(compared.code, 0);
    assert.deepEqual(compared.json().map((c: { verdict: string }) => c.verdict), [
      "slower",
      "slower",
    ]);

    assert.equal((await cli("bench", "compare", a)).code, 2);
    assert.equal((await cli("bench", "compare", a, join(folder, "none.json"))).code, 4);
    Deno.writeTextFileSync(b, `{"format": 1, "results": [{"name": "x"}]}`);
    const foreign = await cli("bench", "compare", a, b);
    assert.equal(foreign.code, 3);
    assert.match(foreign.err, /results\.0\./);
    // An output is not replaced unasked.
    const again = await cli("bench", "hash", "--tokens", "3", ...QUICK, "--out", a);
    assert.equal(again.code, 4);
    assert.match(again.err, /--force/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("kind ids are warned about, random ones are not", async () => {
  const line = ["bench", "hash", "--tokens", "512", "--json", ...QUICK];
  const kind = (await cli(...line, "--ids", "repeated")).json().results[0];
  assert.match(kind.warnings[0], /caches look better/);
  assert.deepEqual((await cli(...line, "--ids", "random")).json().results[0].warnings, []);
});

Deno.test("id streams stay inside the vocabulary, repeat exactly, and differ in kind", () => {
  const [random, zipf, repeated] = (["random", "zipf", "repeated"] as const)
    .map((kind) => idStream(kind, 5000, 99_092));
  for (const ids of [random, zipf, repeated]) {
    assert.ok(ids.every((id) => id >= 0 && id < 99_092));
  }
  assert.deepEqual(random, idStream("random", 5000, 99_092));
  assert.ok(distinct(random) > 4800);
  assert.ok(distinct(zipf) > 1000 && distinct(zipf) < 4500);
  assert.equal(distinct(repeated), 1);
});

Deno.test("bench lookup measures each backend beside one-by-one reads, and counts its bytes", async () => {
  const backends = ["memory", "file", "mapped", "spread", "packed"];
  const { code, err, json } = await cli(
    ...["bench", "lookup", "--checkpoint", MINI, "--tokens", "5", "--backend", backends.join(",")],
    ...["--json", "--samples", "2", "--warmup", "0", "--device", "cpu"],
  );
  assert.equal(code, 0, err);
  const results = json().results as BenchResult[];
  const threads = `file, ${navigator.hardwareConcurrency} threads`;
  const places = ["host memory", "file", "memory map", threads, "packed file"];
  assert.deepEqual(results.map((result) => [result.role, result.variant]), [
    ["ceiling", "memory copy"],
    ...places.flatMap((place) => [["case", place], ["case", `${place}, not decoded`]]),
    ["baseline", "file, one by one"],
  ]);
  // 24 columns; 64 codes and 2 scales of row, 4 bytes of id, 64 bf16 of result.
  const { tokens, rows, bytes } = results[1].work;
  assert.deepEqual([tokens, rows, bytes], [5, 120, 120 * 198]);
  assert.equal(results[2].work.bytes, 120 * (66 + 4 + 66));
});

Deno.test("bench lookup --baseline python adds numpy's rows, the same as ours, or says why not", async () => {
  const { code, err, json } = await cli(
    ...["bench", "lookup", "--checkpoint", MINI, "--tokens", "5", "--backend", "file"],
    ...["--baseline", "python", "--json", "--samples", "2", "--warmup", "0", "--device", "cpu"],
  );
  assert.equal(code, 0, err);
  const cases = (json().results as BenchResult[]).filter(({ variant }) => /^numpy/.test(variant));
  if (/numpy: left out, /.test(err)) return assert.equal(cases.length, 0);
  assert.deepEqual(
    cases.map(({ variant, samples, warnings }) => [variant, samples.length, warnings]),
    [
      ["numpy memmap indexing, codes and scales, not decoded", 2, []],
      ["numpy memmap indexing, codes and scales, decoded by table", 2, []],
    ],
  );
});

Deno.test("bench eval, shard and verify run on a checkpoint, each beside its baseline", async () => {
  const line = ["--checkpoint", MINI, "--json", "--samples", "2", "--warmup", "0"];
  const roles = async (...more: string[]) => {
    const { code, err, json } = await cli("bench", ...more, ...line);
    assert.equal(code, 0, err);
    return (json().results as BenchResult[]).map(({ role }) => role);
  };
  assert.deepEqual(await roles("eval", "--tokens", "3", "--device", "cpu"), ["case"]);
  assert.deepEqual(await roles("shard", "--tp", "2"), ["case", "baseline"]);
  const verified = await roles("verify");
  assert.equal(verified.at(-1), "baseline");
  assert.ok(verified.slice(0, -1).every((role) => role === "case"));
});

Deno.test("an unknown backend is a usage error that lists the known ones", async () => {
  const { code, err } = await cli("bench", "lookup", "--checkpoint", MINI, "--backend", "tape");
  assert.equal(code, 2);
  assert.match(err, /"tape", wanted one of gpu, memory, mapped, file, spread, packed/);
});

Deno.test("an unknown kernel is a usage error, before any device is asked for", async () => {
  const { code, err } = await cli("bench", "kernels", "--kernels", "lookup,tape");
  assert.equal(code, 2);
  assert.match(err, /"tape".*copy, lookup/);
});

Deno.test("hashing with a vocabulary of unknown size is refused, not measured with a made-up one", async () => {
  await inFolder(async (folder) => {
    const { engram_compressed_vocab_size: _, ...config } = SMALL_CONFIG;
    const model = writeCheckpoint(join(folder, "model"), { config });
    const { code, err } = await cli("bench", "hash", "--checkpoint", model, ...QUICK);
    assert.equal(code, 3);
    assert.match(err, /engram_compressed_vocab_size/);
  });
});

Deno.test("an option that means nothing to a benchmark is refused, with those that do", async () => {
  for (
    const [what, option, value] of [
      ["hash", "tp", "2"],
      ["map", "tokens", "3"],
      ["shard", "ids", "zipf"],
      ["verify", "cache", "cold"],
      ["read", "checkpoint", MINI],
      ["kernels", "baseline", "python"],
    ]
  ) {
    const { code, err } = await cli("bench", what, `--${option}`, value);
    assert.equal(code, 2, err);
    assert.match(err, new RegExp(`Cannot measure ${what} by --${option}: it takes --`));
  }
});

Deno.test("bench hash --baseline python adds numpy, which gives the same rows, or says why not", async () => {
  const { code, err, json } = await cli(
    ...["bench", "hash", "--tokens", "1,2,700", "--baseline", "python", "--json", ...QUICK],
  );
  assert.equal(code, 0, err);
  const cases = (json().results as BenchResult[]).filter(({ variant }) => /^numpy/.test(variant));
  if (/numpy: left out, /.test(err)) return assert.equal(cases.length, 0);
  assert.deepEqual(
    cases.map(({ work, samples, warnings }) => [work.tokens, samples.length, warnings]),
    [
      [1, 5, []],
      [2, 5, []],
      [700, 5, []],
    ],
  );
});
