import assert from "node:assert/strict";
import { join } from "node:path";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { mapBy, type Steps } from "./mistaken_map_oracle.ts";

const MODEL = new SyntheticModel({
  layerIds: [4, 1],
  maxNgramSize: 3,
  nHeads: 3,
  headDim: 32,
  vocabSize: 60,
  hidden: 8,
  copies: 2,
  eps: 1e-6,
});

async function compareMaps(
  wrong: (texts: string[], raw: string[]) => number[],
  test: (found: Awaited<ReturnType<typeof cli>>, wrong: number[]) => void,
): Promise<void> {
  await inFolder(async (folder) => {
    const place = MODEL.write(join(folder, "model"));
    const [ours, theirs] = [join(folder, "ours.safetensors"), join(folder, "theirs.json")];
    await cli("map", place, "--out", ours);
    const { loadTokenizer } = await import("../../lib/tokenizer/load_tokenizer.ts");
    const tokenizer = await loadTokenizer(place);
    const ids = Array.from({ length: tokenizer.tokens }, (_, id) => id);
    const made = wrong(
      ids.map((id) => tokenizer.decodeOne(id)),
      ids.map((id) => tokenizer.rawToken(id)!),
    );
    Deno.writeTextFileSync(theirs, JSON.stringify(made));
    test(await cli("diff", ours, theirs, "--checkpoint", place, "--json"), made);
  });
}

const MAPS: [id: string, steps: Steps][] = [
  ["map-marks", { marks: false }],
  ["map-case", { case: false }],
  ["map-trimming", { trim: false }],
  ["map-one-space", { oneSpace: false }],
];

for (const [id, steps] of MAPS) {
  Deno.test(`diff of maps names the cause: ${id}`, async () => {
    await compareMaps((texts, raw) => mapBy(texts, raw, steps), (found, wrong) => {
      assert.equal(found.code, 5, found.err + found.out);
      const [{ arrays: [array], causes }] = found.json().files;
      const differ = wrong.flatMap((value, token) => (value === MODEL.map[token] ? [] : [token]));
      assert.equal(array.different, differ.length);
      assert.equal(array.first.token_id, differ[0]);
      assert.deepEqual(causes.map((cause: { id: string }) => cause.id), [id]);
    });
  });
}

Deno.test("the map by all steps is ours; one of another tokenizer, or of none, is told", async () => {
  await compareMaps((texts, raw) => mapBy(texts, raw, {}), (found) => {
    assert.equal(found.code, 0, found.out);
  });
  await compareMaps((texts) => texts.map((_, id) => id), (found) => {
    assert.deepEqual(found.json().files[0].causes.map(({ id }: { id: string }) => id), [
      "map-missing",
    ]);
  });
  const other =
    goldenJson<Record<string, { map: number[] }>>("tokenizers/maps.json").small_wordpiece;
  await compareMaps(() => other.map, (found) => {
    assert.equal(found.code, 5, found.err);
    const [{ causes: [cause] }] = found.json().files;
    assert.equal(cause.id, "map-other");
  });
});

async function withShards(
  change: (read: (way: string, rank: number) => TensorFile) => Record<string, Uint8Array>,
  test: (found: Awaited<ReturnType<typeof cli>>) => void,
): Promise<void> {
  await inFolder(async (folder) => {
    const place = MODEL.write(join(folder, "model"));
    for (const way of ["heads", "strided", "rows"]) {
      const flags = ["--tp", "3", "--split", way, "--out", join(folder, way)];
      const made = await cli("shard", place, ...flags);
      assert.equal(made.code, 0, made.err);
    }
    const names = [...Deno.readDirSync(join(folder, "heads"))].map(({ name }) => name).sort();
    const path = (way: string, rank: number) => join(folder, way, names[rank]);
    const wrong = change((way, rank) => new TensorFile(path(way, rank)));
    const theirs = join(folder, "theirs.safetensors");
    await writeSafetensors(
      theirs,
      Object.entries(wrong).map(([name, data]) => {
        const width = name.endsWith("scale") ? 1 : 32;
        const dtype = width === 1 ? "F8_E8M0" as const : "F8_E4M3" as const;
        return { name, dtype, shape: [data.length / width, width], data };
      }),
    );
    test(await cli("diff", path("heads", 1), theirs, "--checkpoint", place, "--json"));
  });
}

const WEIGHT = "layers.4.engram.embed.weight";
const SCALE = "layers.4.engram.embed.scale";
const bytesOf = (file: TensorFile, name: string) =>
  file.get(name, name.endsWith("scale") ? "F8_E8M0" : "F8_E4M3").values;

const SHARDS: [
  name: string,
  id: string,
  change: (read: (way: string, rank: number) => TensorFile) => Record<string, Uint8Array>,
][] = [
  ["strided columns", "strided", (read) => ({ [WEIGHT]: bytesOf(read("strided", 1), WEIGHT) })],
  ["plain rows", "plain-rows", (read) => ({ [WEIGHT]: bytesOf(read("rows", 1), WEIGHT) })],
  [
    "another rank's rows",
    "rank-other",
    (read) => ({ [WEIGHT]: bytesOf(read("heads", 2), WEIGHT) }),
  ],
  ["the rank's base not added", "rank-base", (read) => {
    const rows = bytesOf(read("heads", 1), WEIGHT).length / 32;
    return { [WEIGHT]: MODEL.layers[0].codes.slice(0, rows * 32) };
  }],
  ["scales off by one row", "scale-off-by-one", (read) => {
    const { offsets } = MODEL.layout.layers[0];
    const { scales } = MODEL.layers[0];
    assert.equal(bytesOf(read("heads", 1), SCALE).length, offsets[4] - offsets[2]);
    return { [SCALE]: scales.slice(offsets[2] - 1, offsets[4] - 1) };
  }],
  ["rows of the other layer", "other-layer", (read) => ({
    [WEIGHT]: bytesOf(read("heads", 1), "layers.1.engram.embed.weight"),
  })],
];

for (const [name, id, change] of SHARDS) {
  Deno.test(`diff of a rank's shard names the cause: ${name}`, async () => {
    await withShards(change, (found) => {
      assert.equal(found.code, 5, found.err + found.out);
      const [{ causes }] = found.json().files;
      assert.deepEqual(causes.map((cause: { id: string }) => cause.id), [id]);
    });
  });
}

Deno.test("an equal shard is equal", async () => {
  await withShards(
    (read) => ({
      [WEIGHT]: bytesOf(read("heads", 1), WEIGHT),
      [SCALE]: bytesOf(read("heads", 1), SCALE),
    }),
    (found) => assert.equal(found.code, 0, found.out),
  );
});

Deno.test("gates and outputs are compared within the tolerance; NaN equals NaN only", async () => {
  await inFolder(async (folder) => {
    const write = async (name: string, values: number[]) => {
      const path = join(folder, name);
      const data = Float32Array.from(values);
      await writeSafetensors(path, [{ name: "layers.4.gate", dtype: "F32", shape: [2, 2], data }]);
      return path;
    };
    const ours = await write("ours.safetensors", [0.5, 0.25, NaN, 0.001]);
    const near = await write("near.safetensors", [0.504, 0.253, NaN, 0.001]);
    const far = await write("far.safetensors", [0.504, 0.24, 1, 0.001]);
    assert.equal((await cli("diff", ours, near)).code, 0);
    assert.equal((await cli("diff", ours, near, "--tolerance", "0")).code, 5);
    const found = await cli("diff", ours, far, "--json");
    assert.equal(found.code, 5);
    const [array] = found.json().files[0].arrays;
    assert.equal(array.different, 2);
    assert.deepEqual({ ...array.first, expected: 0, actual: 0 }, {
      layer: 4,
      token: 0,
      copy: 1,
      index: [0, 1],
      expected: 0,
      actual: 0,
    });
  });
});

Deno.test("dumps with nothing in common, a folder against a file and broken JSON are refused", async () => {
  await inFolder(async (folder) => {
    const ours = join(folder, "ours.safetensors");
    const data = Int32Array.of(1, 2);
    await writeSafetensors(ours, [{ name: "hash_ids", dtype: "I32", shape: [1, 1, 2], data }]);
    const theirs = join(folder, "theirs.json");
    const compare = async (text: string) => {
      Deno.writeTextFileSync(theirs, text);
      return await cli("diff", ours, theirs);
    };
    assert.match(
      (await compare('{"x": [1, 2]}')).err,
      /no array in common; wanted one of hash_ids/,
    );
    assert.match((await compare("[[1, 2], [3]]")).err, /not all of one length/);
    assert.match((await compare("[1, ")).err, /line 1 is no JSON/);
    assert.match((await compare('["a"]')).err, /found "a" in its list, wanted a number/);
    assert.equal((await compare('{"hash_ids": [[[1, 2]]]}')).code, 0);
    const shorter = await compare('{"hash_ids": [[[1]]]}');
    assert.equal(shorter.code, 5);
    assert.match(shorter.out, /shape \[1,1,1\], wanted \[1,1,2\]/);
    const mixed = await cli("diff", folder, theirs);
    assert.equal(mixed.code, 2);
    assert.match(mixed.err, /wanted two of a kind/);
  });
});
