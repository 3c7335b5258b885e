import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { type ModelSizes, SyntheticModel } from "../engram/synthetic_model.ts";
import { cli } from "../run_cli.ts";

const SIZES: ModelSizes = {
  layerIds: [1, 0],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 32,
  vocabSize: 11,
  hidden: 8,
  copies: 2,
  eps: 1e-6,
  paddingRows: 0,
};

Deno.test("rows written from another checkpoint are refused; a renamed file is the same one", async () => {
  await inFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    new SyntheticModel(SIZES, 1).write(at("ours"));
    new SyntheticModel({ ...SIZES, paddingRows: 1 }, 1).write(at("other"));
    new SyntheticModel({ ...SIZES, vocabSize: 90 }, 1).write(at("wider"));
    new SyntheticModel(SIZES, 1).write(at("renamed"));
    Deno.renameSync(at("renamed/model.safetensors"), at("renamed/engram.safetensors"));
    Deno.writeTextFileSync(at("ids.txt"), "1 2 3");
    Deno.writeTextFileSync(at("rows.json"), '{"1": [0, 5]}');
    const written = [
      ["--shards", ["shard", at("ours"), "--tp", "2", "--out", at("shards")], at("shards")],
      ["--offload", ["offload", at("ours"), "--out", at("packed")], at("packed")],
    ] as const;
    for (const [flag, args, rows] of written) {
      assert.equal((await cli(...args)).code, 0);
      const lookup = (model: string) =>
        cli("lookup", at(model), "--device", "cpu", "--rows", at("rows.json"), flag, rows);
      const evaluate = (model: string) =>
        cli(
          "eval",
          at(model),
          "--device",
          "cpu",
          "--ids",
          at("ids.txt"),
          "--seed",
          "1",
          flag,
          rows,
        );
      for (const model of ["ours", "renamed"]) {
        const { code, err } = await lookup(model);
        assert.equal(code, 0, err);
      }
      // A config alone has no files to compare: its rows must fit.
      const bare = ["--device", "cpu", "--ids", at("ids.txt"), flag, rows];
      const { code, err } = await cli("lookup", at("wider/config.json"), ...bare);
      assert.equal(code, 5, err);
      for (const run of [lookup, evaluate]) {
        for (const model of ["other", "wider"]) {
          const { code, err } = await run(model);
          assert.equal(code, 5, `${flag} ${model}: ${err}`);
          assert.match(err, /(another checkpoint than that of|rows of layer \d+ are) /);
        }
      }
    }
  });
});
