import assert from "node:assert/strict";
import { join } from "node:path";
import { npyHeader } from "../../lib/arrays/npy_header.ts";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { bf16Number, nearestBf16 } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";
import { cli } from "../run_cli.ts";
import { mistakenEngine } from "./mistaken_engine.ts";

const MODEL = new SyntheticModel({
  layerIds: [4, 1],
  maxNgramSize: 3,
  nHeads: 3,
  headDim: 64,
  vocabSize: 500,
  hidden: 8,
  copies: 1,
  eps: 1e-6,
  paddingRows: 400,
});
const { layout, columns, map, padTokenId } = MODEL;
const random = new Random(3);
const T = 40;
const TOKENS = {
  tokenIds: Array.from({ length: T }, () => random.below(2000)),
  dead: Array.from({ length: T }, (_, t) => Number(t % 11 === 6)),
  starts: [0],
};
const IDS = mistakenEngine(layout, map, padTokenId, TOKENS);
const idsOf = (l: number) => IDS.map((layers) => layers[l]);
const RIGHT = [0, 1].map((l) => MODEL.rows(l, idsOf(l).flat()));
const products = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;

/** Rows of layer `l` at [tokens][columns] row numbers. */
const rowsAt = (l: number, ids: number[][]) => MODEL.rows(l, ids.flat());

/** Rows whose values come from any byte of the scales. */
function rescaled(l: number, value: (code: number, place: number, group: number) => number) {
  const { codes } = MODEL.layers[l];
  return Uint16Array.from(
    idsOf(l).flat().flatMap((row) =>
      Array.from({ length: 64 }, (_, i) => value(codes[row * 64 + i], row, Math.floor(i / 32)))
    ),
  );
}

const scaleAt = (l: number, at: number) => MODEL.layers[l].scales[at] ?? 0;
const reorder = (l: number, order: number[]) =>
  rowsAt(l, idsOf(l).map((ids) => order.map((c) => ids[c])));
/** First row of the rank that holds a column, of three ranks. */
const base = (l: number, column: number) => layout.layers[l].offsets[column - column % 2];

const CASES: [name: string, id: string, says: RegExp, wrong: (l: number) => Uint16Array][] = [
  [
    "scales one too large",
    "scale-off-by-one",
    /one too large/,
    (l) => RIGHT[l].map((bits) => nearestBf16(2 * bf16Number(bits))),
  ],
  [
    "scales one too small",
    "scale-off-by-one",
    /one too small/,
    (l) =>
      rescaled(l, (code, row, group) => products[(scaleAt(l, 2 * row + group) - 1) * 256 + code]),
  ],
  [
    "scale bytes read as numbers",
    "scale-as-number",
    /as numbers/,
    (l) =>
      rescaled(
        l,
        (code, row, group) =>
          nearestBf16(bf16Number(products[127 * 256 + code]) * scaleAt(l, 2 * row + group)),
      ),
  ],
  [
    "the scale of the next group",
    "scale-off-by-one",
    /group behind/,
    (l) =>
      rescaled(l, (code, row, group) => products[scaleAt(l, 2 * row + group + 1) * 256 + code]),
  ],
  [
    "the scales of the row before",
    "scale-off-by-one",
    /row before/,
    (l) =>
      rescaled(l, (code, row, group) => products[scaleAt(l, 2 * row - 2 + group) * 256 + code]),
  ],
  ["rows of the other layer", "other-layer", /those of layer/, (l) => RIGHT[1 - l]],
  [
    "the other layer's table",
    "other-layer",
    /table of layer/,
    (l) => rowsAt(1 - l, idsOf(l)),
  ],
  [
    "the other layer's row numbers",
    "other-layer",
    /row numbers are those of layer/,
    (l) => rowsAt(l, idsOf(1 - l)),
  ],
  [
    "a rank's base not added",
    "rank-base",
    /of 3 ranks/,
    (l) => rowsAt(l, idsOf(l).map((ids) => ids.map((id, column) => id - base(l, column)))),
  ],
  ["strided ranks side by side", "strided", /round 2 ranks/, (l) => reorder(l, [0, 2, 4, 1, 3, 5])],
  [
    "columns head-major",
    "head-major",
    /head-major/,
    (l) => reorder(l, [0, 3, 1, 4, 2, 5]),
  ],
  [
    "dead tokens ignored by the hash",
    "dead-ignored",
    /like any other/,
    (l) =>
      rowsAt(
        l,
        mistakenEngine(layout, map, padTokenId, TOKENS, { dead: "not at all" }).map((ids) =>
          ids[l]
        ),
      ),
  ],
];

type Format = "safetensors" | "npy";

async function compare(
  wrong: readonly Uint16Array[],
  test: (found: Awaited<ReturnType<typeof cli>>) => void,
  { format = "safetensors" as Format, model = true } = {},
): Promise<void> {
  await inFolder(async (folder) => {
    const place = MODEL.write(join(folder, "model"));
    const expected = join(folder, "ours.safetensors");
    const rows = (all: readonly Uint16Array[]) =>
      all.map((data, l) => ({
        name: `layers.${layout.layers[l].layerId}.rows`,
        dtype: "BF16" as const,
        shape: [T, columns, 64],
        data,
      }));
    await writeSafetensors(expected, [
      { name: "token_ids", dtype: "I32", shape: [T], data: Int32Array.from(TOKENS.tokenIds) },
      { name: "dead", dtype: "U8", shape: [T], data: Uint8Array.from(TOKENS.dead) },
      ...rows(RIGHT),
    ]);
    const actual = join(folder, `theirs.${format}`);
    if (format === "npy") {
      // [tokens, layers, columns, values] as float32, layers in ascending order.
      const order = [1, 0];
      const header = npyHeader("<f4", [T, 2, columns, 64]);
      const values = new Float32Array(T * 2 * columns * 64);
      for (let t = 0; t < T; t++) {
        order.forEach((l, place) => {
          for (let i = 0; i < columns * 64; i++) {
            values[(t * 2 + place) * columns * 64 + i] = bf16Number(wrong[l][t * columns * 64 + i]);
          }
        });
      }
      const bytes = new Uint8Array(header.length + values.byteLength);
      bytes.set(header);
      bytes.set(new Uint8Array(values.buffer), header.length);
      Deno.writeFileSync(actual, bytes);
    } else await writeSafetensors(actual, rows(wrong));
    const flags = model ? ["--checkpoint", place] : [];
    test(await cli("diff", expected, actual, ...flags, "--json"));
  });
}

for (const [name, id, says, wrong] of CASES) {
  Deno.test(`diff of rows names the cause: ${name}`, async () => {
    // Only the first layer is wrong: the other must stay without a cause.
    const rows = [wrong(0), RIGHT[1]];
    await compare(rows, (found) => {
      assert.equal(found.code, 5, found.err);
      const [{ arrays, causes }] = found.json().files;
      const [array] = arrays.filter(({ equal }: { equal: boolean }) => !equal);
      assert.equal(array.name, "layers.4.rows");
      const differ = [...rows[0]].flatMap((bits, i) => {
        const [a, b] = [bf16Number(bits), bf16Number(RIGHT[0][i])];
        return a === b ? [] : [i];
      });
      assert.equal(array.different, differ.length);
      const { token, layer, column, value } = array.first;
      assert.deepEqual(
        { token, layer, column, value },
        {
          token: Math.floor(differ[0] / 64 / columns),
          layer: 4,
          column: Math.floor(differ[0] / 64) % columns,
          value: differ[0] % 64,
        },
      );
      assert.deepEqual([...new Set(causes.map((cause: { id: string }) => cause.id))], [id]);
      assert.ok(causes.some(({ cause }: { cause: string }) => says.test(cause)), causes[0].cause);
    });
  });
}

Deno.test("layers changed for each other are told without a model, and in .npy", async () => {
  await compare([RIGHT[1], RIGHT[0]], (found) => {
    assert.equal(found.code, 5, found.err);
    const [{ causes }] = found.json().files;
    assert.deepEqual(causes.map(({ id }: { id: string }) => id), ["other-layer", "other-layer"]);
  }, { model: false });
  await compare(RIGHT, (found) => assert.equal(found.code, 0, found.out + found.err), {
    format: "npy",
  });
  await compare([CASES[0][3](0), RIGHT[1]], (found) => {
    assert.equal(found.code, 5);
    const [{ causes }] = found.json().files;
    assert.deepEqual(causes.map(({ id }: { id: string }) => id), ["scale-off-by-one"]);
  }, { format: "npy" });
});

const RANKS: [name: string, id: string, wrong: (ids: number[]) => (number | null)[]][] = [
  // Rank 1 of 4, complete heads: columns 2 and 3.
  ["the strided rank", "strided", (ids) => [ids[1], ids[5]]],
  ["another rank", "rank-other", (ids) => [ids[4], ids[5]]],
  ["a base not added", "rank-base", (ids) => [2, 3].map((c) => ids[c] - base(0, 2))],
  ["a base not taken away", "rank-base", (ids) => {
    const rows = layout.layers[0].offsets[4] - base(0, 2);
    return [2, 3].map((c) => (ids[c] < rows ? ids[c] + base(0, 2) : null));
  }],
];

for (const [name, id, wrong] of RANKS) {
  Deno.test(`diff of one rank's rows names the cause: ${name}`, async () => {
    await inFolder(async (folder) => {
      const place = MODEL.write(join(folder, "model"));
      const rank = ["--tp", "4", "--rank", "1"];
      const [ids, ours, theirs] = ["ids.safetensors", "ours.safetensors", "theirs.safetensors"]
        .map((file) => join(folder, file));
      await writeSafetensors(ids, [
        { name: "token_ids", dtype: "I32", shape: [T], data: Int32Array.from(TOKENS.tokenIds) },
        { name: "dead", dtype: "U8", shape: [T], data: Uint8Array.from(TOKENS.dead) },
      ]);
      const flags = ["--ids", ids, "--device", "cpu", "--out", ours, ...rank];
      const made = await cli("lookup", place, ...flags);
      assert.equal(made.code, 0, made.err);
      const data = Uint16Array.from(
        idsOf(0).flatMap(wrong).flatMap((row) =>
          row === null ? new Array(64).fill(0) : [...MODEL.rows(0, [row])]
        ),
      );
      await writeSafetensors(theirs, [
        { name: "layers.4.rows", dtype: "BF16", shape: [T, 2, 64], data },
      ]);
      const found = await cli("diff", ours, theirs, "--checkpoint", place, ...rank, "--json");
      assert.equal(found.code, 5, found.err);
      const [{ causes }] = found.json().files;
      assert.deepEqual([...new Set(causes.map((cause: { id: string }) => cause.id))], [id]);
      assert.equal((await cli("diff", ours, ours, ...rank)).code, 0);
      assert.equal((await cli("diff", ours, ours, "--tp", "4")).code, 2);
    });
  });
}
