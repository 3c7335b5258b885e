import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { cli } from "../run_cli.ts";

Deno.test("no output replaces what its command reads, not even with --force", async () => {
  await inFolder(async (folder) => {
    const place = join(folder, "model");
    new SyntheticModel({
      layerIds: [1],
      maxNgramSize: 2,
      nHeads: 1,
      headDim: 32,
      vocabSize: 3,
      hidden: 4,
      copies: 1,
      eps: 1e-6,
      paddingRows: 0,
    }, 1).write(place);
    const tensors = namesIn(place).find((name) => name.endsWith(".safetensors"))!;
    const weights = join(place, tensors);
    const ids = join(folder, "ids.npy");
    Deno.writeTextFileSync(ids, "[1, 2]");
    Deno.symlinkSync(ids, join(folder, "link.npy"));
    Deno.linkSync(weights, join(folder, "twin.safetensors"));
    const corpus = join(folder, "corpus");
    Deno.mkdirSync(corpus);
    Deno.writeTextFileSync(join(corpus, "a.jsonl"), "text");
    const of = ["--ids", ids];
    const cases = [
      ["lookup", place, ...of, "--out", weights],
      ["lookup", place, ...of, "--out", relative(Deno.cwd(), weights)],
      ["lookup", weights, ...of, "--out", join(folder, "twin.safetensors")],
      ["eval", place, ...of, "--seed", "1", "--out", ids],
      ["eval", place, ...of, "--seed", "1", "--out", join(folder, "link.npy")],
      ["eval", place, ...of, "--hidden", weights, "--html", weights],
      ["hash", join(place, "config.json"), "--ids", weights, "--out", weights],
      ["hash", place, "--text", corpus, "--out", join(corpus, "a.jsonl")],
      ["export", place, "--map", weights, "--format", "json", "--out", join(place, "config.json")],
      ["inspect", place, "--html", weights],
    ];
    const before = [weights, ids].map((path) => Deno.readFileSync(path));
    for (const args of cases) {
      const { code, err, out } = await cli(...args, "--force");
      assert.equal(code, 2, `${args.join(" ")}: ${err}`);
      assert.match(err, /^error: Cannot write to `.*`: it is, or belongs to, the input `/);
      assert.equal(out, "");
    }
    assert.deepEqual([weights, ids].map((path) => Deno.readFileSync(path)), before);
    assert.equal(Deno.readTextFileSync(join(corpus, "a.jsonl")), "text");
  });
});
