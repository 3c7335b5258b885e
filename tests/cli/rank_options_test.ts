import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { type ModelSizes, SyntheticModel } from "../engram/synthetic_model.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";

const SIZES: ModelSizes = {
  layerIds: [2, 5],
  maxNgramSize: 3,
  nHeads: 4,
  headDim: 32,
  vocabSize: 40,
  hidden: 20,
  copies: 2,
  eps: 1e-6,
};

const CPU = ["--device", "cpu"];

async function withShards(
  test: (paths: {
    root: string;
    model: string;
    text: string;
    shards: string;
    /** Runs a command that must succeed and reads what it wrote. */
    run(...args: string[]): Promise<TensorFile>;
  }) => Promise<void>,
): Promise<void> {
  await inFolder(async (root) => {
    const model = new SyntheticModel(SIZES, 3).write(join(root, "model"));
    const text = join(root, "text.txt");
    Deno.writeTextFileSync(text, "The quick brown fox jumps over the lazy dog, twice.");
    const shards = join(root, "shards");
    const made = await cli("shard", model, "--tp", "3", "--out", shards);
    assert.equal(made.code, 0, made.err);
    let runs = 0;
    await test({
      root,
      model,
      text,
      shards,
      async run(...args) {
        const out = join(root, `out${runs++}.safetensors`);
        const { code, err } = await cli(...args, ...CPU, "--out", out);
        assert.equal(code, 0, err);
        return new TensorFile(out);
      },
    });
  });
}

function assertSameTensors(found: TensorFile, wanted: TensorFile, what: string): void {
  assert.deepEqual([...found.names].sort(), [...wanted.names].sort());
  for (const id of [2, 5]) {
    for (const part of ["rows", "kv", "output"]) {
      const name = `layers.${id}.${part}`;
      if (!wanted.has(name)) continue;
      assert.deepEqual(found.get(name, "BF16"), wanted.get(name, "BF16"), `${name} ${what}`);
    }
  }
}

Deno.test("eval by ranks, tensor or sequence parallel, of a checkpoint or shards, is the same", async () => {
  await withShards(async ({ model, text, shards, run }) => {
    const flags = ["--text", text, "--seed", "1", "--keep", "rows,kv", "--dead-token", "30"];
    const plain = await run("eval", model, ...flags);
    for (
      const ranks of [
        ["--tp", "5"],
        ["--tp", "2", "--dp", "2", "--split", "strided"],
        ["--tp", "3", "--split", "rows"],
        ["--tp", "12", "--sequence-parallel"],
        ["--shards", shards],
        ["--shards", shards, "--tp", "3", "--sequence-parallel"],
      ]
    ) {
      assertSameTensors(await run("eval", model, ...flags, ...ranks), plain, ranks.join(" "));
    }
    // Shards hold all that is needed beside the config.
    const config = join(model, "config.json");
    const tokenizer = ["--tokenizer", join(model, "tokenizer.json")];
    const found = await run("eval", config, ...flags, ...tokenizer, "--shards", shards);
    assertSameTensors(found, plain, "shards and config alone");
    const json = await cli(
      "eval",
      model,
      "--text",
      text,
      "--seed",
      "1",
      "--tp",
      "4",
      "--json",
      ...CPU,
    );
    assert.equal(json.json().ranks, 4);
  });
});

Deno.test("lookup from shards: all gathered, one rank's, row numbers", async () => {
  await withShards(async ({ root, model, text, shards, run }) => {
    const plain = await run("lookup", model, "--text", text);
    const gathered = await run("lookup", model, "--text", text, "--shards", shards);
    assertSameTensors(gathered, plain, "gathered");
    for (const rank of ["0", "1", "2"]) {
      const of = ["--rank", rank];
      const fromShard = await run("lookup", model, "--text", text, "--shards", shards, ...of);
      const fromTable = await run("lookup", model, "--text", text, "--tp", "3", ...of);
      assert.deepEqual(fromShard.get("layers.2.rows", "BF16").shape.slice(1), [3, 32]);
      assertSameTensors(fromShard, fromTable, `rank ${rank}`);
    }
    const rows = join(root, "rows.json");
    Deno.writeTextFileSync(rows, '{"5": [0, 200, 399]}');
    assertSameTensors(
      await run("lookup", model, "--rows", rows, "--shards", shards),
      await run("lookup", model, "--rows", rows),
      "row numbers",
    );
  });
});

Deno.test("lookup with several reading threads is the same", async () => {
  await withShards(async ({ root, model, run }) => {
    const ids = join(root, "ids.json");
    const many = Array.from({ length: 4000 }, (_, i) => (i * 7919) % 2000);
    Deno.writeTextFileSync(ids, JSON.stringify(many));
    // 4,000 tokens × 8 columns are enough to be spread.
    const spread = await run("lookup", model, "--ids", ids, "--readers", "3");
    assertSameTensors(spread, await run("lookup", model, "--ids", ids), "threads");
    const none = await cli("lookup", model, "--ids", ids, "--readers", "0");
    assert.equal(none.code, 2);
    assert.match(none.err, /--readers/);
  });
});

Deno.test("one rank's shard is enough for that rank", async () => {
  await withShards(async ({ model, text, shards, run }) => {
    for (const rank of ["00000", "00002"]) {
      Deno.removeSync(join(shards, `engram-rank-${rank}-of-00003.safetensors`));
    }
    const flags = ["--text", text, "--shards", shards];
    const found = await run("lookup", model, ...flags, "--rank", "1");
    const wanted = await run("lookup", model, "--text", text, "--tp", "3", "--rank", "1");
    assertSameTensors(found, wanted, "rank 1");
    const all = await cli("lookup", model, ...flags, ...CPU);
    assert.equal(all.code, 4);
    assert.match(all.err, /engram-rank-00000-of-00003\.safetensors` is not there/);
  });
});

Deno.test("ranks and shards that do not fit are refused", async () => {
  await withShards(async ({ root, model, text, shards }) => {
    const other = new SyntheticModel({ ...SIZES, vocabSize: 60 }, 3).write(join(root, "other"));
    const empty = join(root, "empty");
    Deno.mkdirSync(empty);
    const cut = join(root, "cut");
    Deno.mkdirSync(cut);
    const [name] = [...Deno.readDirSync(shards)].map((entry) => entry.name).sort();
    Deno.writeFileSync(join(cut, name), Deno.readFileSync(join(shards, name)).subarray(0, -1));
    const mixed = join(root, "mixed");
    assert.equal((await cli("shard", other, "--tp", "3", "--out", mixed)).code, 0);
    Deno.copyFileSync(join(shards, name), join(mixed, name));
    const flags = ["--text", text, "--seed", "1"];
    const cases: [args: string[], code: number, says: RegExp][] = [
      [[model, "--sequence-parallel"], 2, /--sequence-parallel without --tp or --shards/],
      [[model, "--tp", "2", "--split", "rows", "--sequence-parallel"], 2, /wanted heads/],
      [[model, "--dp", "2"], 2, /--dp without --tp/],
      [[model, "--shards", shards, "--tp", "4"], 5, /their tp is 3, wanted 4/],
      [[other, "--shards", shards], 5, /its rows of layer 2 are/],
      [[model, "--shards", empty], 4, /found none, wanted files like engram-rank-00000-of-00004/],
      [[model, "--shards", join(root, "none")], 4, /none/],
      [[model, "--shards", cut], 3, /./],
      [[other, "--shards", mixed], 5, /its rows of layer 2 are/],
    ];
    for (const [args, code, says] of cases) {
      const found = await cli("eval", ...args, ...flags, ...CPU);
      assert.equal(found.code, code, `${args}: ${found.err}`);
      assert.match(found.err, says);
      assert.doesNotMatch(found.err, /Internal error/);
    }
  });
});
