import assert from "node:assert/strict";
import { inFolder } from "../bytes/in_folder.ts";
import {
  change,
  layerTensors,
  SMALL_CONFIG,
  type SmallCheckpoint,
  smallTensors,
  weightMap,
  writeCheckpoint,
} from "../checkpoint/small_checkpoint.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

const ONE = "model.safetensors";

interface Found {
  check: string;
  tensor: string | null;
  message: string;
}

async function mismatches(made: SmallCheckpoint, ...args: string[]): Promise<Found[]> {
  let found: Found[] = [];
  await inFolder(async (folder) => {
    const { code, json, err } = await cli(
      "verify",
      writeCheckpoint(folder, made),
      "--json",
      ...args,
    );
    found = json().mismatches;
    assert.equal(code, found.length > 0 ? 5 : 0, err);
    if (found.length > 0) assert.ok(JSON.parse(err).error.message.includes(found[0].message));
  });
  return found;
}

Deno.test("verify finds the golden checkpoint whole and says what it did not look at", async () => {
  const { code, out } = await cli("verify", goldenPath("mini"));
  assert.equal(code, 0);
  assert.match(
    out,
    /structure ok, map not checked, shards not checked, content not checked, sha256 not checked/,
  );
  const report = (await cli("verify", goldenPath("mini"), "--json")).json();
  assert.equal(report.ok, true);
  assert.deepEqual(report.mismatches, []);
  assert.deepEqual(
    report.checks.filter(({ status }: { status: string }) => status === "ok")
      .map(({ check }: { check: string }) => check),
    ["files", "index", "config", "tensors", "layout"],
  );
});

Deno.test("verify lists every mismatch", async () => {
  const files = { "a.safetensors": layerTensors(1, 36), "b.safetensors": layerTensors(3, 87) };
  const index = { ...weightMap(files), ghost: "a.safetensors", other: "c.safetensors" };
  const found = await mismatches({ files, index });
  assert.deepEqual(found.map(({ check }) => check), ["index", "index", "tensors"]);
  assert.match(found[0].message, /"ghost"/);
  assert.match(found[1].message, /c\.safetensors/);
  assert.equal(found[2].tensor, "layers.3.engram.embed.weight");
});

Deno.test("verify compares the config with the primes", async () => {
  const files = { [ONE]: smallTensors() };
  const bound = await mismatches({ files, config: { ...SMALL_CONFIG, engram_vocab_size: 4 } });
  assert.deepEqual(bound, [], "5 is the first prime from 4 on as well");
  const other = await mismatches({ files, config: { ...SMALL_CONFIG, engram_vocab_size: 6 } });
  // Primes 7 11 13 17 and 19 23 29 31: 48 and 102 rows.
  assert.deepEqual(other.map(({ check, message }) => [check, message]), [
    ["layout", "engram_num_embeddings of layer 1 is 36, but its 4 primes sum to 48"],
    [
      "layout",
      'tensor "layers.1.engram.embed.weight" has 36 rows, wanted 48 or more (the sum of layer 1\'s primes)',
    ],
    ["layout", "engram_num_embeddings of layer 3 is 88, but its 4 primes sum to 102"],
    [
      "layout",
      'tensor "layers.3.engram.embed.weight" has 88 rows, wanted 102 or more (the sum of layer 3\'s primes)',
    ],
  ]);
  const smaller = await mismatches({
    files,
    config: { ...SMALL_CONFIG, engram_num_embeddings: [35, 88] },
  });
  assert.match(smaller[0].message, /is 35, but its 4 primes sum to 36/);
});

Deno.test("verify names a missing scale, layer and misfit", async () => {
  const scale = "layers.1.engram.embed.scale";
  const lacking = { [ONE]: change(smallTensors(), scale, () => null) };
  assert.equal((await mismatches({ files: lacking }))[0].tensor, scale);
  const layer = await mismatches({ files: { [ONE]: layerTensors(1, 36) } });
  assert.ok(layer.some(({ tensor }) => tensor === "layers.3.engram.embed.weight"));
  const config = { hidden_size: 5 };
  const none = await mismatches({ files: { [ONE]: smallTensors() }, config });
  assert.match(none[0].message, /the config has no Engram layers/);
});

Deno.test("verify --partial forgives files that were not fetched, but not Engram tensors", async () => {
  const files = { [ONE]: smallTensors() };
  const index = { ...weightMap(files), lm_head: "model-2.safetensors" };
  assert.equal((await mismatches({ files, index })).length, 1);
  assert.equal((await mismatches({ files, index }, "--partial")).length, 0);
  const half = { "a.safetensors": layerTensors(1, 36) };
  const both = weightMap({ ...half, "b.safetensors": layerTensors(3, 88) });
  const found = await mismatches({ files: half, index: both }, "--partial");
  assert.ok(found.some(({ check }) => check === "index"));
});

Deno.test("verify compares the token map", async () => {
  const small = goldenPath("tokenizers/small_llama.json");
  const { code, err, out } = await cli("verify", goldenPath("mini"), "--tokenizer", small);
  assert.equal(code, 5);
  assert.match(out, /map +1 mismatch/);
  assert.match(err, /wanted 98627/);
  const config = { ...SMALL_CONFIG, engram_compressed_vocab_size: 1005 };
  assert.deepEqual(
    await mismatches({ files: { [ONE]: smallTensors() }, config }, "--tokenizer", small),
    [],
  );
  const pad = { ...config, engram_pad_token_id: 1500 };
  const past = await mismatches(
    { files: { [ONE]: smallTensors() }, config: pad },
    "--tokenizer",
    small,
  );
  assert.match(past[0].message, /engram_pad_token_id 1500 is past the map's 1500 tokens/);
});
