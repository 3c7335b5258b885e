import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { rankSpans, SPLITS } from "../../lib/layout/rank_spans.ts";
import { parseShardName, shardName } from "../../lib/shards/shard_name.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { rawTensors } from "./raw_tensors.ts";

const MINI = goldenPath("mini");
const LAYERS = [1, 14];
/** Columns' primes of both layers, from the values that came with the checkpoint. */
const PRIMES: number[][] = JSON.parse(
  rawTensors(goldenPath("mini/expected.safetensors")).metadata.primes,
).map((layer: number[][]) => layer.flat());

const SOURCE = {
  ...rawTensors(join(MINI, "model-00001-of-00002.safetensors")).tensors,
  ...rawTensors(join(MINI, "model-00002-of-00002.safetensors")).tensors,
};

/** Rows of rank `rank` as the serving engine's rule gives them, in order. */
function rowsOf(primes: number[], way: string, rank: number, ranks: number): number[] {
  const starts = primes.map((_, column) => primes.slice(0, column).reduce((a, b) => a + b, 0));
  const total = primes.reduce((a, b) => a + b, 0);
  if (way === "rows") {
    const each = Math.ceil(total / ranks);
    return range(Math.min(total, rank * each), Math.min(total, (rank + 1) * each));
  }
  const local = Math.ceil(primes.length / ranks);
  return primes.flatMap((prime, column) => {
    const owner = way === "heads" ? Math.floor(column / local) : column % ranks;
    return owner === rank ? range(starts[column], starts[column] + prime) : [];
  });
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

for (const way of SPLITS) {
  for (const [tp, dp] of [[1, 1], [4, 1], [5, 1], [2, 3], [24, 1], [30, 1]]) {
    Deno.test(`shards by ${way} over tp ${tp} × dp ${dp} hold each rank's own rows, all else whole`, async () => {
      await inFolder(async (folder) => {
        const ranks = tp * dp;
        const out = join(folder, "shards");
        const made = await cli(
          ...[
            "shard",
            MINI,
            "--tp",
            `${tp}`,
            "--dp",
            `${dp}`,
            "--split",
            way,
            "--out",
            out,
            "--json",
          ],
        );
        assert.equal(made.code, 0, made.err);
        assert.deepEqual(namesIn(out), range(0, ranks).map((rank) => shardName(rank, ranks)));
        for (let rank = 0; rank < ranks; rank++) {
          const { tensors } = rawTensors(join(out, shardName(rank, ranks)));
          assert.equal(Object.keys(tensors).length, 12);
          LAYERS.forEach((layer, i) => {
            const rows = rowsOf(PRIMES[i], way, rank, ranks);
            for (const part of ["embed.weight", "embed.scale"]) {
              const name = `layers.${layer}.engram.${part}`;
              const { shape: [, width], dtype, bytes } = SOURCE[name];
              assert.deepEqual(tensors[name].shape, [rows.length, width]);
              assert.equal(tensors[name].dtype, dtype);
              const wanted = rows.flatMap((
                row,
              ) => [...bytes.subarray(row * width, (row + 1) * width)]);
              assert.deepEqual(tensors[name].bytes, Uint8Array.from(wanted));
            }
            for (const part of ["wkv.weight", "wkv.scale", "q_weight", "k_weight"]) {
              const name = `layers.${layer}.engram.${part}`;
              assert.deepEqual(tensors[name], SOURCE[name]);
            }
          });
        }
        const verified = await cli("verify", MINI, "--shards", out, "--json");
        assert.equal(verified.code, 0, verified.err);
        // Each rank's file alone is the same file.
        const alone = join(folder, "alone");
        const last = `${ranks - 1}`;
        const one = await cli(
          ...["shard", MINI, "--tp", `${tp}`, "--dp", `${dp}`, "--split", way],
          ...["--rank", last, "--out", alone],
        );
        assert.equal(one.code, 0, one.err);
        const name = shardName(ranks - 1, ranks);
        assert.deepEqual(Deno.readFileSync(join(alone, name)), Deno.readFileSync(join(out, name)));
        assert.deepEqual(namesIn(alone), [name]);
      });
    });
  }
}

Deno.test("whatever the layout and split, every row is held exactly once", () => {
  const counts = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 2, max: 50 }), { minLength: 1, maxLength: 30 }),
      counts,
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(...SPLITS),
      (primes, tp, dp, split) => {
        const offsets = primes.map((_, i) => primes.slice(0, i).reduce((a, b) => a + b, 0));
        const rows = primes.reduce((a, b) => a + b, 0);
        const layer = { layerId: 0, primes: [primes], offsets, multipliers: [], rows };
        const held = new Uint8Array(rows);
        for (const span of rankSpans(layer, { tp, dp, split })) {
          for (const [start, end] of span.ranges) {
            for (let row = start; row < end; row++) held[row]++;
          }
        }
        assert.ok(held.every((times) => times === 1));
      },
    ),
  );
});

Deno.test("a second run verifies and writes nothing; a cut-short one is finished", async () => {
  await inFolder(async (folder) => {
    const line = ["shard", MINI, "--tp", "3", "--out", folder, "--json"];
    const first = await cli(...line);
    assert.deepEqual(states(first), ["written", "written", "written"]);
    const before = Deno.statSync(join(folder, shardName(0, 3))).mtime;
    const second = await cli(...line);
    assert.deepEqual(states(second), ["verified", "verified", "verified"]);
    assert.deepEqual(Deno.statSync(join(folder, shardName(0, 3))).mtime, before);

    // As a killed run leaves it: one shard missing, its partial file there.
    Deno.renameSync(join(folder, shardName(1, 3)), join(folder, `.${shardName(1, 3)}.partial`));
    assert.deepEqual(states(await cli(...line)), ["verified", "written", "verified"]);
    assert.deepEqual(namesIn(folder), [0, 1, 2].map((rank) => shardName(rank, 3)));
  });
});

function states(result: { json(): { shards: { state: string }[] } }): string[] {
  return result.json().shards.map(({ state }) => state);
}

Deno.test("a shard that differs is not replaced unasked", async () => {
  await inFolder(async (folder) => {
    const line = ["shard", MINI, "--tp", "3", "--out", folder];
    assert.equal((await cli(...line)).code, 0);
    const path = join(folder, shardName(2, 3));
    const bytes = Deno.readFileSync(path);
    bytes[bytes.length - 1] ^= 1;
    Deno.writeFileSync(path, bytes);
    const again = await cli(...line);
    assert.equal(again.code, 4);
    assert.match(again.err, /differs from the checkpoint[^]*--force/);
    assert.deepEqual(Deno.readFileSync(path), bytes);
    assert.equal((await cli(...line, "--force")).code, 0);
    assert.equal((await cli("verify", MINI, "--shards", folder)).code, 0);
  });
});

Deno.test("verify names the rank, tensor and row of a wrong byte, missing ranks and foreign files", async () => {
  await inFolder(async (folder) => {
    assert.equal((await cli("shard", MINI, "--tp", "3", "--out", folder)).code, 0);
    const path = join(folder, shardName(1, 3));
    const bytes = Deno.readFileSync(path);
    const name = "layers.14.engram.embed.weight";
    const table = rawTensors(path).tensors[name];
    const at = bytes.length - (table.bytes.buffer.byteLength - table.bytes.byteOffset);
    bytes[at + 5 * 64 + 3] ^= 0x10;
    Deno.writeFileSync(path, bytes);
    Deno.removeSync(join(folder, shardName(2, 3)));
    Deno.copyFileSync(
      join(MINI, "model-00002-of-00002.safetensors"),
      join(folder, "x.safetensors"),
    );
    const { code, json } = await cli("verify", MINI, "--shards", folder, "--json");
    assert.equal(code, 5);
    const messages = json().mismatches.map(({ message }: { message: string }) => message).join(
      "\n",
    );
    // Rank 1 of 3 holds columns 8 … 15: its row 5 of layer 14 is 5 after the first eight primes.
    const row = PRIMES[1].slice(0, 8).reduce((a, b) => a + b, 0) + 5;
    assert.match(messages, new RegExp(`"${name}" of rank 1 differs .* row ${row} on .*row 5 of`));
    assert.match(messages, /rank-00002-of-00003.safetensors` is missing/);
    assert.match(messages, /`x.safetensors` is no shard of this set/);
  });
});

Deno.test("shards of another checkpoint do not pass", async () => {
  await inFolder(async (folder) => {
    const other = join(folder, "other");
    const out = join(folder, "out");
    Deno.mkdirSync(other);
    for (const name of namesIn(MINI)) Deno.copyFileSync(join(MINI, name), join(other, name));
    const file = join(other, "model-00001-of-00002.safetensors");
    const bytes = Deno.readFileSync(file);
    bytes[bytes.length - 7] ^= 1;
    Deno.writeFileSync(file, bytes);
    assert.equal((await cli("shard", other, "--tp", "2", "--out", out)).code, 0);
    const { code, err } = await cli("verify", MINI, "--shards", out);
    assert.equal(code, 5);
    assert.match(err, /differs from the checkpoint/);
  });
});

Deno.test("a folder without shards, or none at all, is said to be so", async () => {
  await inFolder(async (folder) => {
    const empty = await cli("verify", MINI, "--shards", folder);
    assert.equal(empty.code, 4);
    assert.match(empty.err, /found none, wanted files like engram-rank-00000-of-00004/);
    assert.equal((await cli("verify", MINI, "--shards", join(folder, "none"))).code, 4);
  });
});

Deno.test("the checkpoint's own folder is no place for shards", async () => {
  await inFolder((folder) => {
    const link = join(folder, "link");
    Deno.symlinkSync(MINI, link);
    return Promise.all([MINI, join(MINI, "sub"), link].map(async (out) => {
      const { code, err } = await cli("shard", MINI, "--tp", "2", "--out", out);
      assert.equal(code, 2);
      assert.match(err, /the checkpoint's folder/);
    })).then(() => {});
  });
});

Deno.test("--dry-run writes nothing and plans the very bytes", async () => {
  await inFolder(async (folder) => {
    const out = join(folder, "out");
    const line = ["shard", MINI, "--tp", "7", "--out", out, "--json"];
    const planned = (await cli(...line, "--dry-run")).json();
    assert.deepEqual(namesIn(folder), []);
    const written = (await cli(...line)).json();
    assert.equal(planned.bytes, written.bytes);
    for (const { file, bytes } of planned.shards) {
      assert.equal(Deno.statSync(join(out, file)).size, bytes);
    }
  });
});

Deno.test("a rank past the last is a usage error", async () => {
  const { code, err } = await cli(
    "shard",
    MINI,
    "--tp",
    "2",
    "--dp",
    "2",
    "--rank",
    "4",
    "--out",
    "x",
  );
  assert.equal(code, 2);
  assert.match(err, /from 0 to 3/);
});

Deno.test("shard names are read back exactly, and near misses are not shards", () => {
  assert.deepEqual(parseShardName("engram-rank-00003-of-00004.safetensors"), { rank: 3, ranks: 4 });
  assert.deepEqual(parseShardName(shardName(123456, 200000)), { rank: 123456, ranks: 200000 });
  for (
    const name of [
      "engram-rank-00004-of-00004.safetensors",
      "engram-rank-3-of-4.safetensors",
      "engram-rank-000003-of-00004.safetensors",
      "engram-rank-00003-of-00004.safetensors.partial",
    ]
  ) assert.equal(parseShardName(name), null, name);
});
