import assert from "node:assert/strict";
import { join } from "node:path";
import { npyHeader } from "../../lib/arrays/npy_header.ts";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";
import { Random } from "../kernels/random.ts";
import { cli } from "../run_cli.ts";
import { mapBy } from "./mistaken_map_oracle.ts";
import { type EngineTokens, mistakenEngine, type Mistakes, seeded } from "./mistaken_engine.ts";

/** Its pad has another number on the map than among tokens. */
class PaddedModel extends SyntheticModel {
  override readonly padTokenId = 300;
}

const MODEL = new PaddedModel({
  layerIds: [4, 1, 9],
  maxNgramSize: 4,
  nHeads: 3,
  headDim: 32,
  vocabSize: 1000,
  hidden: 8,
  copies: 1,
  eps: 1e-6,
});
const { layout, map, padTokenId } = MODEL;
const COLUMNS = layout.columns;
const SIZE = layout.compressedVocabSize;
assert.notEqual(map[padTokenId], padTokenId);
const TOKENS = makeTokens();
const RIGHT = mistakenEngine(layout, map, padTokenId, TOKENS);

function makeTokens(): EngineTokens {
  const random = new Random(7);
  const tokenIds = Array.from({ length: 150 }, () => random.below(2000));
  const dead = tokenIds.map((_, t) => Number(t % 29 === 17 || t % 29 === 18));
  return { tokenIds, dead, starts: [0, 60, 61] };
}

/** Runs `engram hash` on the tokens, writes `wrong` as an engine's dump, and compares. */
async function compare(
  wrong: number[][][],
  test: (found: Awaited<ReturnType<typeof cli>>) => void,
  format: "safetensors" | "npy" | "jsonl" = "safetensors",
  flags: string[] = ["--checkpoint", "MODEL"],
): Promise<void> {
  await inFolder(async (folder) => {
    const model = MODEL.write(join(folder, "model"));
    const [ids, expected] = [join(folder, "ids.safetensors"), join(folder, "ours.safetensors")];
    const { tokenIds, dead, starts } = TOKENS;
    await writeSafetensors(ids, [
      { name: "token_ids", dtype: "I32", shape: [150], data: Int32Array.from(tokenIds) },
      { name: "dead", dtype: "U8", shape: [150], data: Uint8Array.from(dead) },
      { name: "starts", dtype: "I64", shape: [3], data: BigInt64Array.from(starts, BigInt) },
    ]);
    const made = await cli("hash", model, "--ids", ids, "--out", expected);
    assert.equal(made.code, 0, made.err);
    const actual = join(folder, `theirs.${format}`);
    const flat = wrong.flat(2);
    const shape = [150, layout.layers.length, COLUMNS];
    if (format === "safetensors") {
      // int64, as PyTorch engines have it.
      const data = BigInt64Array.from(flat, BigInt);
      await writeSafetensors(actual, [{ name: "hash_ids", dtype: "I64", shape, data }]);
    } else if (format === "npy") {
      const header = npyHeader("<i4", shape);
      const bytes = new Uint8Array(header.length + 4 * flat.length);
      bytes.set(header);
      bytes.set(new Uint8Array(Int32Array.from(flat).buffer), header.length);
      Deno.writeFileSync(actual, bytes);
    } else Deno.writeTextFileSync(actual, wrong.map((token) => JSON.stringify(token)).join("\n"));
    const named = flags.map((flag) => flag.replace("MODEL", model));
    test(await cli("diff", expected, actual, ...named, "--json"));
  });
}

/** Where two sets of row numbers differ first, and how often. */
function differences(wrong: number[][][]) {
  let [different, tokens] = [0, 0];
  let first: { token: number; layer: number; column: number } | undefined;
  wrong.forEach((layers, token) => {
    const before = different;
    layers.forEach((ids, l) =>
      ids.forEach((id, column) => {
        if (id === RIGHT[token][l][column]) return;
        different++;
        first ??= { token, layer: MODEL.sizes.layerIds[l], column };
      })
    );
    if (different > before) tokens++;
  });
  return { different, tokens, first };
}

function engine(mistakes: Mistakes): number[][][] {
  return mistakenEngine(layout, map, padTokenId, TOKENS, mistakes);
}

const multipliers = layout.layers.map((layer) => layer.multipliers);
const primes = layout.layers.map((layer) => layer.primes.flat());
const starts = primes.map((list) =>
  list.map((_, i) => list.slice(0, i).reduce((a, b) => a + b, 0))
);
const rows = primes.map((list) => list.reduce((a, b) => a + b));
const headMajor = Array.from({ length: COLUMNS }, (_, i) => (i % 3) * 3 + Math.floor(i / 3));
const reorder = (order: number[]) =>
  RIGHT.map((layers) => layers.map((ids) => order.map((column) => ids[column])));
/** Every second column first: two ranks dealt round. */
const dealt = [0, 2, 4, 6, 8, 1, 3, 5, 7];

const tokenizer = await loadTokenizer(goldenPath("tokenizers/small_bytelevel.json"));
const TEXTS = map.map((_, id) => tokenizer.decodeOne(id));
const RAW = map.map((_, id) => tokenizer.rawToken(id)!);

const CASES: [name: string, id: string, says: RegExp, wrong: () => number[][][]][] = [
  ["pad as token id", "pad-token-id", /token id/, () => engine({ pad: padTokenId })],
  ["pad as 0", "pad-zero", /hashed as 0/, () => engine({ pad: 0 })],
  ["dead tokens not sticky", "dead-not-sticky", /block/, () => engine({ dead: "only itself" })],
  ["dead tokens ignored", "dead-ignored", /like any other/, () => engine({ dead: "not at all" })],
  ["lookback lost at chunks", "chunk-lookback-lost", /chunks of 16/, () => engine({ lost: 16 })],
  [
    "every token its own chunk",
    "chunk-lookback-lost",
    /chunks of 1 /,
    () => engine({ lost: 1 }),
  ],
  ["window reversed", "window-reversed", /chunks of 20/, () => engine({ reversedWindow: 20 })],
  ["window of decoding reversed", "window-reversed", /of 1 /, () => engine({ reversedWindow: 1 })],
  [
    "multipliers reversed",
    "multipliers-reversed",
    /reverse/,
    () => engine({ multipliers: multipliers.map((list) => list.toReversed()) }),
  ],
  [
    "multipliers of the token count",
    "multipliers-other-size",
    /vocabulary of 2000, wanted 1585/,
    () => engine({ multipliers: [4, 1, 9].map((id) => seeded(10007 * id, 4, 2000)) }),
  ],
  [
    "multipliers of DeepSeek-V4.1's size",
    "multipliers-other-size",
    /vocabulary of 99092/,
    () => engine({ multipliers: [4, 1, 9].map((id) => seeded(10007 * id, 4, 99092)) }),
  ],
  [
    "multipliers of sorted layers",
    "multipliers-layer-order",
    /another order/,
    () => engine({ multipliers: [multipliers[1], multipliers[2], multipliers[0]] }),
  ],
  [
    "multipliers by the layer's place",
    "multipliers-seed",
    /place in the list/,
    () => engine({ multipliers: [0, 1, 2].map((id) => seeded(10007 * id, 4, SIZE)) }),
  ],
  [
    "multipliers seeded by the id alone",
    "multipliers-seed",
    /layer id alone/,
    () => engine({ multipliers: [4, 1, 9].map((id) => seeded(id, 4, SIZE)) }),
  ],
  ["products through doubles", "products-double", /doubles/, () => engine({ doubles: true })],
  [
    "primes not shared between layers",
    "primes-not-shared",
    /each layer/,
    () => engine({ primes: primes.map(() => primes[0]) }),
  ],
  ["columns head-major", "head-major", /head-major order, wanted/, () => reorder(headMajor)],
  [
    "first rows head-major",
    "head-major",
    /first rows are summed up/,
    () =>
      engine({
        starts: (l, column) => {
          const before = headMajor.slice(0, headMajor.indexOf(column));
          return before.reduce((sum, other) => sum + primes[l][other], 0);
        },
      }),
  ],
  ["offsets missing", "offsets-missing", /remainders/, () => engine({ starts: () => 0 })],
  [
    "offsets global",
    "offsets-global",
    /over all layers/,
    () =>
      engine({
        starts: (l, column) => starts[l][column] + rows.slice(0, l).reduce((a, b) => a + b, 0),
      }),
  ],
  [
    "a rank's base not added",
    "rank-base",
    /of 2 ranks/,
    () => engine({ starts: (l, column) => starts[l][column] - (column < 5 ? 0 : starts[l][5]) }),
  ],
  ["strided ranks put side by side", "strided", /round 2 ranks/, () => reorder(dealt)],
  ...(["map-marks", "map-case", "map-trimming", "map-one-space"] as const).map((
    id,
  ): (typeof CASES)[number] => [
    `${id}, with the multipliers of its own size`,
    id,
    /multipliers derive from its/,
    () => {
      const wrong = mapBy(TEXTS, RAW, {
        marks: id !== "map-marks",
        case: id !== "map-case",
        trim: id !== "map-trimming",
        oneSpace: id !== "map-one-space",
      });
      const size = new Set(wrong).size;
      const own = [4, 1, 9].map((layer) => seeded(10007 * layer, 4, size));
      return engine({ map: wrong, multipliers: own });
    },
  ]),
  [
    "a map that keeps case, with the right multipliers",
    "map-case",
    /upper and lower case apart$/,
    () => engine({ map: mapBy(TEXTS, RAW, { case: false }) }),
  ],
  [
    "token ids not compressed",
    "map-missing",
    /as they are/,
    () => engine({ map: map.map((_, id) => id) }),
  ],
];

for (const [name, id, says, wrong] of CASES) {
  Deno.test(`diff names the cause: ${name}`, async () => {
    const ids = wrong();
    const { different, tokens, first } = differences(ids);
    assert.ok(different > 0, "the mistake shows");
    await compare(ids, (found) => {
      assert.equal(found.code, 5, found.err);
      const [{ arrays: [array], causes }] = found.json().files;
      assert.equal(array.different, different);
      assert.equal(array.different_tokens, tokens);
      const { token, layer, column, expected, actual } = array.first;
      assert.deepEqual({ token, layer, column }, first);
      const l = MODEL.sizes.layerIds.indexOf(layer);
      assert.equal(expected, RIGHT[token][l][column]);
      assert.equal(actual, ids[token][l][column]);
      assert.deepEqual([...new Set(causes.map((cause: { id: string }) => cause.id))], [id]);
      assert.ok(causes.some(({ cause }: { cause: string }) => says.test(cause)), causes[0].cause);
    });
  });
}

Deno.test("diff of equal row numbers is 0 in every format, int64 or int32", async () => {
  for (const format of ["safetensors", "npy", "jsonl"] as const) {
    await compare(RIGHT, (found) => {
      assert.equal(found.code, 0, found.err + found.out);
      assert.equal(found.json().equal, true);
    }, format);
  }
});

Deno.test("diff finds causes in .npy and JSON dumps as well", async () => {
  for (const format of ["npy", "jsonl"] as const) {
    await compare(engine({ pad: 0 }), (found) => {
      assert.equal(found.code, 5);
      assert.equal(found.json().files[0].causes[0].id, "pad-zero");
    }, format);
  }
});

Deno.test("a difference of no known cause is told as such; without a model none is looked for", async () => {
  const wrong = RIGHT.map((layers) => layers.map((ids) => [...ids]));
  wrong[70][2][5]++;
  await compare(wrong, (found) => {
    assert.equal(found.code, 5);
    const [{ arrays: [array], causes }] = found.json().files;
    assert.equal(array.different, 1);
    assert.deepEqual(array.first.index, [70, 2, 5]);
    assert.equal(array.first.layer, 9);
    assert.deepEqual(causes, []);
  });
  await compare(
    engine({ pad: 0 }),
    (found) => {
      assert.equal(found.code, 5);
      assert.deepEqual(found.json().files[0].causes, []);
      assert.equal(found.json().model, false);
    },
    "npy",
    [],
  );
});

Deno.test("the oracle without mistakes is the published hash", () => {
  // Against the model's own oracle, which is checked against golden values.
  const { tokenIds, dead } = TOKENS;
  const own = MODEL.ids(tokenIds.slice(61), dead.slice(61));
  assert.deepEqual(RIGHT.slice(61).map((layers) => layers.flat()), own);
  assert.equal(
    goldenJson<Record<string, { compressed_vocab_size: number }>>("tokenizers/maps.json")
      .small_bytelevel.compressed_vocab_size,
    SIZE,
  );
});
