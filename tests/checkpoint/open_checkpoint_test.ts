import assert from "node:assert/strict";
import { join } from "node:path";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { moduleOf, tableOf } from "../../lib/checkpoint/checkpoint.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { rejects } from "./rejects.ts";
import {
  change,
  layerTensors,
  SMALL_CONFIG,
  type SmallCheckpoint,
  type SmallTensor,
  smallTensors,
  weightMap,
  writeCheckpoint,
} from "./small_checkpoint.ts";

const ONE = "model.safetensors";
const EMBED = "layers.1.engram.embed.weight";

/** Opens a checkpoint made of `made`, looks at it and closes it. */
async function opened<T>(
  made: SmallCheckpoint,
  look: (checkpoint: Awaited<ReturnType<typeof openCheckpoint>>) => T,
  name = "",
): Promise<T> {
  let result: T | undefined;
  await inFolder(async (folder) => {
    const checkpoint = await openCheckpoint(join(writeCheckpoint(folder, made), name));
    try {
      result = look(checkpoint);
    } finally {
      checkpoint.close();
    }
  });
  return result as T;
}

const summary = (made: SmallCheckpoint, name?: string) =>
  opened(
    made,
    ({ layers }) =>
      layers.map(({ layerId, rows, encoding, packed }) => [layerId, rows, encoding.kind, packed]),
    name,
  );

const BOTH = [[1, 36, "fp8", false], [3, 88, "fp8", false]];

Deno.test("the golden checkpoint written by the Python library opens", async () => {
  const checkpoint = await openCheckpoint(goldenPath("mini"));
  try {
    assert.deepEqual(checkpoint.layers.map(({ layerId, rows }) => [layerId, rows]), [
      [1, 3698],
      [14, 6938],
    ]);
    assert.equal(checkpoint.tensors.size, 13);
    assert.deepEqual(checkpoint.warnings, [
      "file `expected.safetensors` is there but not listed in the index",
    ]);
    assert.equal(tableOf(checkpoint.layer(14)).scale?.name, "layers.14.engram.embed.scale");
    await rejects(() => checkpoint.layer(2), "usage", "layer 2", "1, 14");
  } finally {
    checkpoint.close();
  }
});

Deno.test("a folder without an index, with one, one file, an index and a config alone", async () => {
  const files = { [ONE]: smallTensors() };
  assert.deepEqual(await summary({ files }), BOTH);
  assert.deepEqual(await summary({ files, index: true }), BOTH);
  assert.deepEqual(await summary({ files }, ONE), BOTH);
  assert.deepEqual(await summary({ files, index: true }, "model.safetensors.index.json"), BOTH);
  const split = { "a.safetensors": layerTensors(1, 36), "b.safetensors": layerTensors(3, 88) };
  assert.deepEqual(await summary({ files: split }), BOTH);
  assert.deepEqual(await summary({ files: split, index: true }), BOTH);
  await opened({}, (checkpoint) => {
    assert.deepEqual(checkpoint.layers.map(({ rows, embed }) => [rows, embed]), [
      [36, null],
      [88, null],
    ]);
    assert.throws(() => tableOf(checkpoint.layers[0]), /embed.weight.* is not in what was opened/);
    assert.throws(() => moduleOf(checkpoint.layers[0]), /wkv.weight, q_weight, k_weight/);
  }, "config.json");
});

Deno.test("one file of several opens with the layers it holds", async () => {
  const files = { "a.safetensors": layerTensors(1, 36), "b.safetensors": layerTensors(3, 88) };
  assert.deepEqual(await summary({ files, index: true }, "b.safetensors"), [BOTH[1]]);
  const table = { "t.safetensors": layerTensors(1, 36).slice(0, 2) };
  await opened(
    { files: table },
    ({ layers }) => assert.equal(layers[0].wkv, null),
    "t.safetensors",
  );
});

Deno.test("every naming variant", async () => {
  const rename = (tensors: SmallTensor[], names: Record<string, string>) =>
    tensors.map((tensor) => ({
      ...tensor,
      name: tensor.name.replace(/engram\.(.*)$/, (_, part) => `engram.${names[part] ?? part}`),
    }));
  const spellings: Record<string, string>[] = [
    { "embed.weight": "embed_tokens.weight", "embed.scale": "embed_tokens.weight_scale_inv" },
    { "embed.scale": "embed.weight_scale" },
    { "embed.scale": "embed.weight_scale_inv", "wkv.scale": "wkv.weight_scale_inv" },
  ];
  for (const prefix of ["", "model.", "language_model.", "model.language_model."]) {
    const tensors = [...layerTensors(1, 36, prefix), ...layerTensors(3, 88, prefix)];
    assert.deepEqual(await summary({ files: { [ONE]: tensors } }), BOTH);
    for (const spelling of spellings) {
      const files = { [ONE]: rename(tensors, spelling) };
      assert.deepEqual(await summary({ files, index: true }), BOTH);
    }
  }
});

Deno.test("every row encoding", async () => {
  const embed = (dtype: string, width: number, scale: [string, number[]] | null) => {
    const tensors = change(
      smallTensors(),
      EMBED,
      (tensor) => ({ ...tensor, dtype, shape: [36, width] }),
    );
    return change(
      tensors,
      "layers.1.engram.embed.scale",
      (tensor) => scale && { ...tensor, dtype: scale[0], shape: scale[1] },
    );
  };
  const cases: [string, number, [string, number[]] | null, string, boolean][] = [
    ["F8_E4M3", 32, ["U8", [36, 1]], "fp8", false],
    ["U8", 32, ["U8", [36, 1]], "fp8", false],
    ["I8", 32, ["F32", [36, 1]], "int8", false],
    ["BF16", 32, null, "bf16", false],
    ["F16", 32, null, "f16", false],
    ["F32", 32, null, "f32", false],
    ["U8", 33, null, "fp8", true],
    ["I8", 33, null, "fp8", true],
  ];
  for (const [dtype, width, scale, kind, packed] of cases) {
    const files = { [ONE]: embed(dtype, width, scale) };
    assert.deepEqual((await summary({ files }))[0], [1, 36, kind, packed], `${dtype} ${width}`);
  }
  const renamed = embed("U8", 33, null).map((tensor) =>
    tensor.name === EMBED ? { ...tensor, name: "layers.1.engram.e4m3_e8m0_32_row264" } : tensor
  );
  assert.deepEqual((await summary({ files: { [ONE]: renamed } }))[0], [1, 36, "fp8", true]);
});

Deno.test("more rows than the primes need are padding; fewer are an error", async () => {
  const rows = (n: number) => [...layerTensors(1, n), ...layerTensors(3, 88)];
  assert.deepEqual((await summary({ files: { [ONE]: rows(64) } }))[0], [1, 64, "fp8", false]);
  await rejects(
    () => summary({ files: { [ONE]: rows(35) } }),
    "malformed",
    `tensor "${EMBED}" has 35 rows, wanted 36`,
  );
});

Deno.test("what is missing or misfits is an error that names the tensor", async () => {
  const at = (part: string) => `layers.3.engram.${part}`;
  const shaped = (shape: number[], dtype?: string) => (tensor: SmallTensor) => ({
    ...tensor,
    shape,
    dtype: dtype ?? tensor.dtype,
  });
  const cases: [string, (tensor: SmallTensor) => SmallTensor | null, string][] = [
    [at("embed.weight"), () => null, "is missing"],
    [at("embed.scale"), () => null, "is missing"],
    [at("wkv.weight"), () => null, "is missing"],
    [at("wkv.scale"), () => null, "is missing"],
    [at("q_weight"), () => null, "is missing"],
    [at("k_weight"), () => null, "is missing"],
    [at("embed.weight"), shaped([88, 31]), "[88, 31], wanted 32 values in a row"],
    [at("embed.weight"), shaped([88, 32, 1]), "wanted two dimensions"],
    [at("embed.weight"), shaped([88, 32], "F64"), "is F64"],
    [at("embed.scale"), shaped([88, 2]), "wanted shape [88, 1]"],
    [at("embed.scale"), shaped([87, 1]), "wanted shape [88, 1]"],
    [at("embed.scale"), shaped([88, 1], "F32"), "wanted F8_E8M0 or U8"],
    [at("wkv.weight"), shaped([128, 96]), "wanted F8_E4M3 or BF16 [96, 128]"],
    [at("wkv.scale"), shaped([4, 3]), "wanted F8_E8M0 or U8 [3, 4]"],
    [at("q_weight"), shaped([2, 16]), "wanted BF16 [2, 32]"],
    [at("k_weight"), shaped([2, 32], "F32"), "wanted BF16 [2, 32]"],
  ];
  for (const [name, how, ...parts] of cases) {
    const files = { [ONE]: change(smallTensors(), name, how) };
    await rejects(() => summary({ files }), "malformed", `"${name}"`, ...parts);
  }
  await rejects(
    () => summary({ files: { [ONE]: layerTensors(1, 36) } }),
    "malformed",
    '"layers.3.engram.embed.weight" is missing',
  );
  await rejects(
    () => summary({ files: { [ONE]: [{ name: "x", dtype: "U8", shape: [1] }] } }, ONE),
    "malformed",
    "no Engram tensors",
  );
});

Deno.test("a part under two names is an error", async () => {
  const twice = { name: "layers.1.engram.embed.weight_scale", dtype: "U8", shape: [36, 1] };
  await rejects(
    () => summary({ files: { [ONE]: [...smallTensors(), twice] } }),
    "malformed",
    "under two names",
  );
});

Deno.test("two files with the same tensor are an error without an index", async () => {
  const files = { "a.safetensors": smallTensors(), "b.safetensors": layerTensors(1, 36) };
  await rejects(() => summary({ files }), "malformed", "a.safetensors", "b.safetensors", "both");
});

Deno.test("the index is checked both ways", async () => {
  const files = { "a.safetensors": layerTensors(1, 36), "b.safetensors": layerTensors(3, 88) };
  const map = weightMap(files);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(map).filter(([key]) => key !== name));
  await rejects(
    () => summary({ files, index: { ...map, ghost: "a.safetensors" } }),
    "malformed",
    '"ghost" is listed in file `a.safetensors` but no file holds it',
  );
  await rejects(
    () => summary({ files, index: { ...map, [EMBED]: "b.safetensors" } }),
    "malformed",
    "is listed in file `b.safetensors` but is in `a.safetensors`",
  );
  await rejects(
    () => summary({ files, index: { ...map, [EMBED]: "c.safetensors" } }),
    "malformed",
    "is listed in file `c.safetensors` but is in `a.safetensors`",
  );
  await rejects(
    () => summary({ files, index: without(EMBED) }),
    "malformed",
    `"${EMBED}" is in \`a.safetensors\` but not listed`,
  );
  const { "b.safetensors": _, ...half } = files;
  await rejects(
    () => summary({ files: half, index: map }),
    "unavailable",
    "layers.3.engram.embed.weight",
    "`b.safetensors`, which is not there",
  );
});

Deno.test("a checkpoint fetched in part opens where its Engram tensors are whole", async () => {
  const files = { [ONE]: smallTensors() };
  const index = { ...weightMap(files), "lm_head.weight": "model-00002.safetensors" };
  const warnings = await opened({ files, index }, (checkpoint) => checkpoint.warnings);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /model-00002.safetensors. is listed in the index but not there/);
  const more = { ...index, x: "model-00003.safetensors", y: "model-00004.safetensors" };
  assert.deepEqual(await opened({ files, index: more }, (checkpoint) => checkpoint.warnings), [
    "3 files listed in the index are not there, " +
    "`model-00002.safetensors` to `model-00004.safetensors`",
  ]);
});

Deno.test("an index that leads out of its folder is refused", async () => {
  const files = { [ONE]: smallTensors() };
  const bad = [
    "../model.safetensors",
    "/etc/model.safetensors",
    "a/../../model.safetensors",
    "C:/model.safetensors",
    "..\\model.safetensors",
    "https://example.org/model.safetensors",
    "",
    "./model.safetensors",
    "model\u0000.safetensors",
    "passwd",
    5,
    null,
    { file: ONE },
  ];
  for (const file of bad) {
    await rejects(
      () => summary({ files, index: { ...weightMap(files), [EMBED]: file } }),
      "malformed",
      `"${EMBED}"`,
      "wanted a safetensors file in the index's own folder",
    );
  }
});

Deno.test("a hub's cache of links opens; a link to anywhere else is refused", async () => {
  await inFolder(async (root) => {
    const blobs = join(root, "models--x", "blobs");
    const snapshot = join(root, "models--x", "snapshots", "abc");
    writeCheckpoint(blobs, { files: { d1: smallTensors() }, config: null });
    writeCheckpoint(snapshot, { index: weightMap({ [ONE]: smallTensors() }) });
    Deno.symlinkSync("../../blobs/d1", join(snapshot, ONE));
    (await openCheckpoint(snapshot)).close();
    (await openCheckpoint(join(snapshot, ONE))).close();
    Deno.symlinkSync(snapshot, join(root, "link"));
    (await openCheckpoint(join(root, "link"))).close();

    const outside = writeCheckpoint(join(root, "outside"), { files: { [ONE]: smallTensors() } });
    Deno.removeSync(join(snapshot, ONE));
    Deno.symlinkSync(join(outside, ONE), join(snapshot, ONE));
    await rejects(
      () => openCheckpoint(snapshot),
      "malformed",
      "is a link to",
      "outside its folder",
    );
  });
});

Deno.test("index files that are none", async () => {
  await inFolder(async (folder) => {
    writeCheckpoint(folder, { files: { [ONE]: smallTensors() } });
    const path = join(folder, "model.safetensors.index.json");
    const cases: [string, string][] = [
      ["", "not JSON"],
      ["[]", '"weight_map"'],
      ["{}", '"weight_map"'],
      ['{"weight_map":[]}', '"weight_map"'],
      ['{"weight_map":{"a":', "not JSON"],
      ["<!doctype html>", "a web page"],
      ["version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"],
    ];
    for (const [text, part] of cases) {
      Deno.writeTextFileSync(path, text);
      await rejects(() => openCheckpoint(folder), "malformed", path, part);
    }
    Deno.writeFileSync(path, new Uint8Array([0x7b, 0xff, 0xfe]));
    await rejects(() => openCheckpoint(folder), "malformed", path, "UTF-8");
  });
});

Deno.test("places that are no checkpoint", async () => {
  await inFolder(async (folder) => {
    await rejects(() => openCheckpoint(folder), "unavailable", folder, "neither");
    await rejects(() => openCheckpoint(join(folder, "no")), "unavailable", "no such file");
    writeCheckpoint(folder, { files: { [ONE]: smallTensors() }, config: null });
    await rejects(() => openCheckpoint(folder), "unavailable", "no config.json");
    Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify({ ...SMALL_CONFIG }) + "x");
    await rejects(() => openCheckpoint(folder), "malformed", "config.json", "not JSON");
  });
});
