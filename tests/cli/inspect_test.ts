import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import {
  change,
  fileBytes,
  layerTensors,
  SMALL_CONFIG,
  smallTensors,
  writeCheckpoint,
} from "../checkpoint/small_checkpoint.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

const ONE = "model.safetensors";

Deno.test("inspect shows the golden checkpoint", async () => {
  const { code, out, err } = await cli("inspect", goldenPath("mini"));
  assert.equal(code, 0, err);
  for (
    const part of [
      "13 tensors in 2 files",
      "n-grams 2 to 4 × 8 heads = 24 columns of 64 values",
      "agrees with the files",
      "3,698",
      "97 … 223",
      "layers.14.engram.embed.scale",
      "odd: file `expected.safetensors` is there but not listed in the index",
    ]
  ) assert.ok(out.includes(part), part);
  assert.ok(!out.includes("\nembed.weight "), "only Engram tensors without --all");
  const all = await cli("inspect", goldenPath("mini"), "--all");
  assert.match(all.out, /^embed\.weight +BF16/m);
});

Deno.test("inspect --json counts exactly", async () => {
  const report = (await cli("inspect", goldenPath("mini"), "--json", "--all")).json();
  assert.equal(report.kind, "folder");
  assert.equal(report.tensor_count, 13);
  assert.equal(report.tensor_bytes, 1_696_216);
  assert.equal(report.tensors.length, 13);
  assert.equal(report.engram_tensor_count, 12);
  assert.deepEqual(report.index, {
    name: "model.safetensors.index.json",
    tensors: 13,
    files: 2,
    total_size: 1_696_216,
    missing_files: 0,
    agrees: true,
  });
  assert.deepEqual(report.dtypes.F8_E8M0, { tensors: 4, bytes: 7396 + 480 + 13_876 + 480 });
  const [layer] = report.engram_layers;
  assert.equal(layer.row_bytes, 66);
  assert.equal(layer.layout_rows, 3698);
  assert.equal(layer.table_bytes, 3698 * 66);
});

Deno.test("inspect works on any safetensors file, and on a config alone", async () => {
  const ids = await cli("inspect", goldenPath("hashes.safetensors"), "--all");
  assert.equal(ids.code, 0);
  assert.match(ids.out, /released\.hash_ids +I32 +\[116, 2, 24\] +22,272/);
  assert.match(ids.out, /no Engram tensors/);
  const part = await cli("inspect", goldenPath("mini/model-00001-of-00002.safetensors"));
  assert.equal(part.code, 0, "a file of several is whole by itself");
  const config = (await cli("inspect", goldenPath("mini/config.json"), "--json")).json();
  assert.equal(config.kind, "config");
  assert.deepEqual(config.engram_layers.map((layer: { rows: number }) => layer.rows), [3698, 6938]);
});

Deno.test("a config that does not say how many rows there are is shown with its primes' rows", async () => {
  await inFolder(async (folder) => {
    const { engram_num_embeddings: _, ...config } = SMALL_CONFIG;
    const path = join(folder, "config.json");
    await Deno.writeTextFile(path, JSON.stringify(config));
    const { engram_layers: layers } = (await cli("inspect", path, "--json")).json();
    // Primes from 5 on, four a layer: 5 + 7 + 11 + 13 and 17 + 19 + 23 + 29.
    assert.deepEqual(layers.map((layer: { rows: number }) => layer.rows), [36, 88]);
    assert.deepEqual(layers.map((layer: { table_bytes: number }) => layer.table_bytes), [
      36 * 33,
      88 * 33,
    ]);
  });
});

Deno.test("inspect without a config tells layers by their tensors", async () => {
  await inFolder(async (folder) => {
    writeCheckpoint(folder, { files: { [ONE]: layerTensors(7, 36, "model.") }, config: null });
    const { code, json } = await cli("inspect", folder, "--json");
    assert.equal(code, 0);
    const [layer] = json().engram_layers;
    assert.deepEqual([layer.layer_id, layer.rows, layer.row_bytes], [7, 36, 33]);
    assert.match(json().oddities.join("\n"), /no config\.json/);
  });
});

Deno.test("inspect of a model without Engram layers", async () => {
  await inFolder(async (folder) => {
    const files = { [ONE]: [{ name: "w", dtype: "BF16", shape: [2, 2] }] };
    writeCheckpoint(folder, { files, config: { hidden_size: 2, model_type: "plain" } });
    const { code, out } = await cli("inspect", folder);
    assert.equal(code, 0);
    assert.match(out, /no Engram tensors/);
  });
});

Deno.test("files that share names are inspected, unless they are Engram's", async () => {
  await inFolder(async (folder) => {
    const w = [{ name: "w", dtype: "U8", shape: [1] }];
    const files = { "a.safetensors": w, "b.safetensors": w };
    writeCheckpoint(join(folder, "any"), { files, config: null });
    const any = await cli("inspect", join(folder, "any"));
    assert.equal(any.code, 0, any.err);
    assert.match(any.out, /odd: tensor "w" is in both/);
    const tables = { "a.safetensors": layerTensors(1, 36), "b.safetensors": layerTensors(1, 36) };
    writeCheckpoint(join(folder, "engram"), { files: tables, config: null });
    assert.equal((await cli("inspect", join(folder, "engram"))).code, 3);
  });
});

Deno.test("inspect ends with 3 on malformed input and names the file", async () => {
  await inFolder(async (folder) => {
    const bad = join(folder, "bad.safetensors");
    Deno.writeTextFileSync(bad, "<!doctype html><title>404</title>");
    const { code, err } = await cli("inspect", bad, "--json");
    assert.equal(code, 3);
    assert.equal(JSON.parse(err.trim().split("\n").at(-1)!).error.where, bad);
    const broken = change(smallTensors(), "layers.1.engram.embed.scale", () => null);
    const home = writeCheckpoint(join(folder, "home"), { files: { [ONE]: broken } });
    const shown = await cli("inspect", home);
    assert.equal(shown.code, 3);
    assert.match(shown.out, /layers\.1\.engram\.embed\.weight/, "what can be shown is shown");
    assert.match(shown.err, /"layers\.1\.engram\.embed\.scale" is missing/);
    const config = { ...SMALL_CONFIG, engram_n_heads: -1 };
    const odd = writeCheckpoint(join(folder, "odd"), { files: { [ONE]: smallTensors() }, config });
    const refused = await cli("inspect", odd);
    assert.equal(refused.code, 3);
    assert.match(refused.err, /engram_n_heads is -1/);
  });
  assert.equal((await cli("inspect", "/nowhere/at/all")).code, 4);
});

Deno.test("shards of ranks are shown as such, and are no checkpoint", async () => {
  await inFolder(async (folder) => {
    for (const rank of [0, 1]) {
      const manifest = {
        format: 1,
        split: "heads",
        tp: 2,
        dp: 1,
        rank,
        layers: [{
          layer_id: 1,
          columns: [rank * 2, rank * 2 + 1],
          row_ranges: [rank === 0 ? [0, 12] : [12, 36]],
          rows: rank === 0 ? 12 : 24,
          table_rows: 36,
        }],
        source: [],
      };
      const tensors = layerTensors(1, rank === 0 ? 12 : 24);
      const bytes = fileBytes(tensors, { "engram.shard": JSON.stringify(manifest) });
      Deno.writeFileSync(join(folder, `engram-rank-0000${rank}-of-00002.safetensors`), bytes);
    }
    const { code, out } = await cli("inspect", folder);
    assert.equal(code, 0);
    assert.match(out, /shards.*12 tensors in 2 files/);
    assert.match(out, /^ +1 +2 +heads +2-3 +24 +engram-rank-00001/m);
    assert.ok(!out.includes("odd:"), out);
    const one = await cli("inspect", join(folder, "engram-rank-00001-of-00002.safetensors"));
    assert.equal(one.code, 0);
    const verified = await cli("verify", folder);
    assert.equal(verified.code, 2);
    assert.match(verified.err, /--shards/);
    Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(SMALL_CONFIG));
    const used = await cli("hash", folder, "--ids", "none");
    assert.equal(used.code, 2);
    assert.match(used.err, /as a checkpoint: found shards of ranks/);
  });
});

Deno.test("names from a file cannot move the cursor", async () => {
  await inFolder(async (folder) => {
    const many = Array.from(
      { length: 5000 },
      (_, i) => ({ name: `t${i}`, dtype: "U8", shape: [0] }),
    );
    const hostile = { name: "a\x1b[2Jb\nc\u202ed\x9b", dtype: "U8", shape: [1] };
    writeCheckpoint(folder, { files: { [ONE]: [...many, hostile] }, config: null });
    const { code, out } = await cli("inspect", folder, "--all");
    assert.equal(code, 0);
    assert.match(out, /^a\\u001b\[2Jb\\u000ac\\u202ed\\u009b +U8 +\[1\]/m);
    assert.match(out, /^t4999 /m);
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    assert.ok(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(out));
  });
});
