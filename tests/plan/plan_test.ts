import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { rawTensors } from "../shards/raw_tensors.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const MINI = goldenPath("mini");
const EXPECTED = rawTensors(goldenPath("mini/expected.safetensors"));
const PRIMES: number[][] = JSON.parse(EXPECTED.metadata.primes).map((layer: number[][]) =>
  layer.flat()
);
const SOURCE = {
  ...rawTensors(join(MINI, "model-00001-of-00002.safetensors")).tensors,
  ...rawTensors(join(MINI, "model-00002-of-00002.safetensors")).tensors,
};
const MODULE = [1, 14].flatMap((layer) =>
  ["wkv.weight", "wkv.scale", "q_weight", "k_weight"].map((part) =>
    SOURCE[`layers.${layer}.engram.${part}`].bytes.length
  )
).reduce((a, b) => a + b, 0);
/** Bytes of columns [first, end) of both layers; records of this checkpoint have 66 bytes. */
const columnBytes = (first: number, end: number) =>
  66 * PRIMES.flatMap((layer) => layer.slice(first, end)).reduce((a, b) => a + b, 0);
const ALL = columnBytes(0, 24);

async function plan(...options: string[]) {
  const { code, json, err } = await cli("plan", MINI, "--json", ...options);
  assert.equal(code, 0, err);
  return json();
}

Deno.test("every placement takes what its ranks hold, and fits to the byte", async () => {
  // 100 tokens, 6 columns of 24 a rank, two layers, records of 66 bytes.
  const staging = 100 * 6 * 2 * 66;
  const gpu = MODULE + columnBytes(18, 24);
  const shared = 4 * staging + ALL;
  const sizes = ["--gpu-memory", `${gpu}`, "--ram", `${shared}`, "--shm", `${ALL}`];
  const line = ["--tp", "4", "--batch", "100"];
  const { placements, layers } = await plan(...line, ...sizes);
  assert.deepEqual(placements.map((p: { name: string }) => p.name), [
    "gpu",
    "host shared",
    "host private",
    "disk",
  ]);
  assert.equal(layers[0].table_bytes + layers[1].table_bytes, ALL);
  const [onGpu, sharedMemory, ownMemory, disk] = placements;
  // The last rank holds the largest primes.
  assert.equal(onGpu.gpu_bytes, gpu);
  assert.deepEqual(
    onGpu.ranks.map((rank: { gpu_bytes: number }) => rank.gpu_bytes),
    [0, 6, 12, 18].map((first) => MODULE + columnBytes(first, first + 6)),
  );
  assert.equal(sharedMemory.host_shared_bytes, ALL);
  assert.equal(sharedMemory.host_private_bytes, 4 * staging);
  assert.equal(sharedMemory.gpu_bytes, MODULE + staging);
  assert.equal(ownMemory.host_private_bytes, ALL + 4 * staging);
  assert.deepEqual([disk.disk_bytes, disk.cache_bytes], [ALL, ALL]);
  assert.ok(placements.every((p: { fits: boolean }) => p.fits));

  const tight = ["--gpu-memory", `${gpu - 1}`, "--ram", `${shared}`, "--shm", `${ALL - 1}`];
  const again = (await plan(...line, ...tight)).placements;
  assert.deepEqual(again[0].lacks, [{ of: "gpu", wanted: gpu, found: gpu - 1 }]);
  assert.deepEqual(again[1].lacks, [{ of: "shm", wanted: ALL, found: ALL - 1 }]);
  assert.ok(again[2].fits);
});

Deno.test("data-parallel groups may share the rows or have a copy each; hosts hold their ranks'", async () => {
  const { placements } = await plan(
    ...["--tp", "2", "--dp", "2", "--hosts", "2", "--gpu-memory", "1GB", "--ram", "1GB"],
    ...["--batch", "1"],
  );
  const of = (name: string) => placements.find((p: { name: string }) => p.name === name);
  const gpus = (name: string) => of(name).ranks.map((r: { gpu_bytes: number }) => r.gpu_bytes);
  const quarter = (rank: number) => MODULE + columnBytes(6 * rank, 6 * rank + 6);
  assert.deepEqual(gpus("gpu"), [0, 1, 2, 3].map(quarter));
  const half = [columnBytes(0, 12), columnBytes(12, 24)];
  // Shard number is tp rank * dp + dp rank: ranks 0 and 1 are one tp rank of two groups.
  assert.deepEqual(
    gpus("gpu, a copy a group"),
    [half[0], half[0], half[1], half[1]].map((b) => MODULE + b),
  );
  assert.equal(of("host shared").host_shared_bytes, half[1]);
  assert.equal(of("disk").disk_bytes, half[1]);
});

Deno.test("a config alone is enough, with the sizes of the released encoding", async () => {
  const { code, json } = await cli(
    ...["plan", join(MINI, "config.json"), "--json", "--tp", "1"],
    ...["--gpu-memory", "1GB", "--ram", "1GB"],
  );
  assert.equal(code, 0);
  const bytes = json().layers.map((l: { module_bytes: number }) => l.module_bytes);
  assert.equal(bytes[0] + bytes[1], MODULE);
  assert.equal(json().placements[0].gpu_bytes, MODULE + ALL);
});

Deno.test("with ids it counts what the golden hash ids ask for, and draws the curve", async () => {
  await inFolder(async (folder) => {
    const ids = goldenPath("mini/expected.safetensors");
    const hashes = new Int32Array(EXPECTED.tensors["hash_ids"].bytes.slice().buffer);
    const map = join(folder, "map.safetensors");
    assert.equal((await cli("map", await realTokenizer("deepseek_v3"), "--out", map)).code, 0);
    const svg = join(folder, "curve.svg");
    const { text, placements } = await plan(
      ...["--tp", "4", "--gpu-memory", "1GB", "--ram", "1GB", "--ids", ids, "--map", map],
      ...["--svg", svg],
    );
    assert.equal(text.tokens, EXPECTED.tensors["token_ids"].shape[0]);
    for (const layer of [0, 1]) {
      const own = hashes.filter((_, i) => Math.floor(i / 24) % 2 === layer);
      assert.equal(text.layers[layer].requests, own.length);
      assert.equal(text.layers[layer].distinct_rows, new Set(own).size);
      // All tokens are one batch here.
      assert.equal(text.layers[layer].reads, new Set(own).size);
    }
    for (const { split, ranks } of text.splits) {
      assert.equal(ranks.length, 4);
      const reads = ranks.reduce((sum: number, rank: { reads: number }) => sum + rank.reads, 0);
      assert.equal(reads, text.layers[0].reads + text.layers[1].reads, split);
    }
    const last = text.hit_rates.at(-1);
    const distinct = text.layers[0].distinct_rows + text.layers[1].distinct_rows;
    assert.equal(last.hit_rate, (hashes.length - distinct) / hashes.length);
    assert.equal(placements.at(-1).hit_rate, last.hit_rate);
    assert.match(Deno.readTextFileSync(svg), /^<svg [^]*Hit rate by size of the row cache/);
    const { code } = await cli(
      ...["plan", MINI, "--tp", "4", "--gpu-memory", "1GB", "--ram", "1GB"],
      ...["--ids", ids, "--map", map, "--svg", svg],
    );
    assert.equal(code, 4, "an existing picture is not replaced unasked");
    assert.deepEqual(namesIn(folder), ["curve.svg", "map.safetensors"]);
  });
});

Deno.test("what cannot be planned is a usage error", async () => {
  const sizes = ["--gpu-memory", "1GB", "--ram", "1GB"];
  const hosts = await cli("plan", MINI, "--tp", "4", "--hosts", "3", ...sizes);
  assert.equal(hosts.code, 2);
  assert.match(hosts.err, /4 ranks do not spread evenly over 3 hosts/);
  const svg = await cli("plan", MINI, "--tp", "4", "--svg", "x.svg", ...sizes);
  assert.equal(svg.code, 2);
  assert.equal((await cli("plan", MINI, "--tp", "4", "--ram", "1GB")).code, 2);
  assert.equal(
    (await cli("plan", MINI, "--tp", "4", "--ram", "lots", "--gpu-memory", "1")).code,
    2,
  );
});
