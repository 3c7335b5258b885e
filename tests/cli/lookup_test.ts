import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { rankSpans, SPLITS } from "../../lib/layout/rank_spans.ts";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { type ModelSizes, SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { assertSameBits, bf16Number } from "../kernels/bf16_oracle.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const TEXT = "The quick brown fox jumps over the lazy dog.\nNaïve ΟΔΥΣΣΕΥΣ, 四大 don't stop.";

const SIZES: ModelSizes = {
  layerIds: [4, 1],
  maxNgramSize: 4,
  nHeads: 2,
  headDim: 40,
  vocabSize: 90,
  hidden: 8,
  copies: 1,
  eps: 1e-6,
  paddingRows: 3,
};

interface Fixture {
  readonly model: SyntheticModel;
  readonly folder: string;
  readonly text: string;
  /** Runs a lookup on the CPU and reads what it wrote. */
  lookup(...flags: string[]): Promise<TensorFile>;
}

async function withModel(
  test: (fixture: Fixture) => Promise<void>,
  sizes: ModelSizes = SIZES,
): Promise<void> {
  await inFolder(async (folder) => {
    const model = new SyntheticModel(sizes, 5);
    model.write(join(folder, "model"));
    const text = join(folder, "text.txt");
    Deno.writeTextFileSync(text, TEXT);
    let runs = 0;
    await test({
      model,
      folder,
      text,
      async lookup(...flags) {
        const out = join(folder, `out${runs++}.safetensors`);
        const place = join(folder, "model");
        const { code, err } = await cli("lookup", place, "--device", "cpu", ...flags, "--out", out);
        assert.equal(code, 0, err);
        return new TensorFile(out);
      },
    });
  });
}

Deno.test("lookup of the golden checkpoint's text gives the golden rows", async () => {
  await inFolder(async (folder) => {
    const expected = goldenTensors("mini/expected.safetensors");
    const [text, out] = [join(folder, "text.txt"), join(folder, "out.safetensors")];
    Deno.writeTextFileSync(text, expected.metadata.text);
    const tokenIds = expected.get("token_ids", "I32").values;
    const deadIds = [...tokenIds].filter((_, t) => expected.get("dead", "U8").values[t]);
    const { code, err } = await cli(
      "lookup",
      goldenPath("mini"),
      ...["--text", text, "--tokenizer", await realTokenizer("deepseek_v3")],
      ...deadIds.flatMap((id) => ["--dead-token", String(id)]),
      ...["--tp", "7", "--out", out, "--device", "cpu"],
    );
    assert.equal(code, 0, err);
    for (const name of ["layers.1.rows", "layers.14.rows"]) {
      const rows = new TensorFile(out).get(name, "BF16");
      assert.deepEqual(rows.shape, [64, 24, 64]);
      assertSameBits(rows.values, expected.get(`${name}_bf16_bits`, "I32").values, name);
    }
  });
});

Deno.test("lookup is the model's rows; every split gathered is the same", async () => {
  await withModel(async ({ model, text, lookup }) => {
    const plain = await lookup("--text", text);
    const tokenIds = plain.get("token_ids", "I32").values;
    const ids = model.ids(tokenIds, new Uint8Array(tokenIds.length));
    const rows = model.layers.map((layer, i) => {
      const found = plain.get(`layers.${layer.id}.rows`, "BF16");
      assert.deepEqual(found.shape, [tokenIds.length, 6, 40]);
      assertSameBits(found.values, model.rows(i, model.layerIds(i, ids)), `layer ${layer.id}`);
      return found.values;
    });
    for (const split of SPLITS) {
      for (const tp of split === "heads" ? ["1", "4", "33"] : ["2"]) {
        const dp = tp === "2" ? ["--dp", "3"] : [];
        const file = await lookup("--text", text, "--tp", tp, "--split", split, ...dp);
        model.layers.forEach(({ id }, i) =>
          assertSameBits(file.get(`layers.${id}.rows`, "BF16").values, rows[i], `${split} ${tp}`)
        );
      }
    }
  });
});

Deno.test("lookup of one rank gives its columns, zeros past the last and for foreign rows", async () => {
  await withModel(async ({ model, text, lookup }) => {
    const plain = await lookup("--text", text);
    const whole = plain.get("layers.4.rows", "BF16").values;
    const ids = model.layerIds(0, model.ids(plain.get("token_ids", "I32").values, []));
    const at = (t: number, column: number) => (t * 6 + column) * 40;
    for (const [split, tp] of [["heads", 4], ["strided", 4], ["rows", 2]] as const) {
      const layer = model.layout.layers[0];
      for (const span of rankSpans(layer, { tp, split })) {
        const flags = ["--tp", `${tp}`, "--split", split, "--rank", `${span.rank}`];
        const { shape, values } = (await lookup("--text", text, ...flags)).get(
          "layers.4.rows",
          "BF16",
        );
        assert.deepEqual(shape.slice(1), [span.localColumns, 40]);
        for (let t = 0; t < shape[0]; t++) {
          for (let j = 0; j < span.localColumns; j++) {
            const column = split === "rows" ? j : span.columns[j];
            const held = column !== undefined && span.ranges.some(([start, end]) => {
              const id = ids[t * 6 + column];
              return id >= start && id < end;
            });
            const from = (t * span.localColumns + j) * 40;
            assert.deepEqual(
              values.subarray(from, from + 40),
              held ? whole.subarray(at(t, column), at(t, column) + 40) : new Uint16Array(40),
            );
          }
        }
      }
    }
  });
});

Deno.test("lookup of row numbers, as JSON and as safetensors, alone and by rank", async () => {
  await withModel(async ({ model, folder, lookup }) => {
    const last = model.layers[0].codes.length / 40 - 1; // a padding row
    const asked = { 4: [0, last, 17, 17, 5], 1: [300, 2] };
    const json = join(folder, "rows.json");
    Deno.writeTextFileSync(json, JSON.stringify(asked));
    const tensors = join(folder, "rows.safetensors");
    await writeSafetensors(
      tensors,
      Object.entries(asked).map(([id, rows]) => ({
        name: `layers.${id}.row_ids`,
        dtype: "I64" as const,
        shape: [rows.length],
        data: BigInt64Array.from(rows, BigInt),
      })),
    );
    for (const file of [json, tensors]) {
      const found = await lookup("--rows", file);
      assert.deepEqual([...found.names].sort(), ["layers.1.rows", "layers.4.rows"]);
      const four = found.get("layers.4.rows", "BF16");
      assert.deepEqual(four.shape, [5, 40]);
      assertSameBits(four.values, model.rows(0, asked[4]), "layer 4");
      assertSameBits(found.get("layers.1.rows", "BF16").values, model.rows(1, asked[1]), "layer 1");
    }
    const first = await lookup("--rows", json, "--tp", "6", "--rank", "0");
    const span = rankSpans(model.layout.layers[0], { tp: 6 })[0];
    const wanted = asked[4].flatMap((row) =>
      row < span.rowEnd ? [...model.rows(0, [row])] : new Array(40).fill(0)
    );
    assert.ok(span.rowEnd > 17 && span.rowEnd < last);
    assertSameBits(first.get("layers.4.rows", "BF16").values, wanted, "rank 0");
  });
});

Deno.test("lookup without --out is a summary; as JSON lines, one line a token", async () => {
  await withModel(async ({ model, folder, text, lookup }) => {
    const place = join(folder, "model");
    const args = ["lookup", place, "--text", text, "--device", "cpu"];
    const shown = await cli(...args);
    assert.match(shown.out, /tokens of 1 request, 0 dead/);
    assert.match(shown.out, /^ *4 +\d+ +\d+ × 6 × 40 +[0-9a-f]{64}$/m);
    const value = (await cli(...args, "--json")).json();
    assert.equal(value.out, null);
    const rows = (await lookup("--text", text)).get("layers.4.rows", "BF16");
    const digest = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new Uint8Array(rows.values.buffer as ArrayBuffer)),
    );
    assert.deepEqual(value.layers[0], {
      layer_id: 4,
      rows: rows.shape[0] * 6,
      shape: rows.shape,
      sha256: digest.toHex(),
    });
    const lines = join(folder, "rows.jsonl");
    assert.equal((await cli(...args, "--out", lines)).code, 0);
    const parsed = Deno.readTextFileSync(lines).trimEnd().split("\n").map((l) => JSON.parse(l));
    assert.equal(parsed.length, value.tokens);
    assert.deepEqual(
      parsed.flatMap((line) => line["layers.4.rows"].flat()),
      Array.from(rows.values, bf16Number),
    );
    assert.equal(model.columns, parsed[0]["layers.1.rows"].length);
  });
});

Deno.test("lookup as .npy: float32, layers side by side; row numbers of one layer", async () => {
  await withModel(async ({ model, folder, text, lookup }) => {
    const args = ["lookup", join(folder, "model"), "--device", "cpu"];
    const out = join(folder, "rows.npy");
    assert.equal((await cli(...args, "--text", text, "--out", out)).code, 0);
    const file = await lookup("--text", text);
    const layers = [4, 1].map((id) => file.get(`layers.${id}.rows`, "BF16").values);
    const tokens = layers[0].length / 240;
    const wanted = Array.from(
      { length: tokens },
      (_, t) => layers.map((rows) => Array.from(rows.subarray(t * 240, (t + 1) * 240), bf16Number)),
    ).flat(2);
    assertNpy(out, [tokens, 2, 6, 40], wanted);

    const asked = join(folder, "rows.json");
    Deno.writeTextFileSync(asked, '{"4": [7, 0]}');
    assert.equal((await cli(...args, "--rows", asked, "--out", out, "--force")).code, 0);
    assertNpy(out, [2, 40], Array.from(model.rows(0, [7, 0]), bf16Number));
    const lines = join(folder, "rows.jsonl");
    assert.equal((await cli(...args, "--rows", asked, "--out", lines)).code, 0);
    assert.deepEqual(
      Deno.readTextFileSync(lines).trimEnd().split("\n").map((line) => JSON.parse(line)),
      [7, 0].map((row) => ({
        layer_id: 4,
        row,
        values: Array.from(model.rows(0, [row]), bf16Number),
      })),
    );
    Deno.writeTextFileSync(asked, '{"4": [7], "1": [1]}');
    const two = await cli(...args, "--rows", asked, "--out", out, "--force");
    assert.equal(two.code, 2);
    assert.match(two.err, /rows of 2 layers are asked for/);
  });
});

/** A .npy file of float32, read by a few lines of the test's own. */
function assertNpy(path: string, shape: number[], values: number[]): void {
  const bytes = Deno.readFileSync(path);
  const length = new DataView(bytes.buffer).getUint16(8, true);
  const header = new TextDecoder().decode(bytes.subarray(10, 10 + length));
  assert.equal((10 + length) % 64, 0);
  assert.ok(header.includes("'descr': '<f4'"), header);
  assert.ok(header.includes(`'shape': (${shape.join(", ")})`), header);
  const found = new Float32Array(bytes.slice(10 + length).buffer);
  assert.deepEqual([...found], values);
}

Deno.test("lookup refuses what cannot be meant, and leaves no file", async () => {
  await withModel(async ({ model, folder, text }) => {
    const rows = model.layers[0].codes.length / 40;
    const file = (name: string, content: string) => {
      Deno.writeTextFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const out = join(folder, "out.safetensors");
    const cases: [flags: string[], code: number, says: RegExp][] = [
      [[], 2, /neither --text nor --ids/],
      [["--text", text, "--rows", text], 2, /--rows with --text or --ids/],
      [["--text", text, "--rank", "0"], 2, /--rank without --tp/],
      [["--text", text, "--split", "rows"], 2, /--split without --tp/],
      [["--text", text, "--tp", "0"], 2, /--tp/],
      [["--text", text, "--tp", "3", "--rank", "3"], 2, /rank 3: wanted 0 to 2/],
      [["--rows", file("1", '{"4": [1, -1]}')], 3, /layer 4: row number 1 .* is -1, wanted/],
      [
        ["--rows", file("2", `{"4": [${rows}]}`)],
        3,
        new RegExp(`is ${rows}, wanted .* ${rows - 1}`),
      ],
      [["--rows", file("3", '{"4": [1.5]}')], 3, /is 1\.5, wanted an integer/],
      [["--rows", file("4", '{"4": ["1"]}')], 3, /row 0 of layer 4 is "1", wanted a number/],
      [["--rows", file("5", '{"4": 1}')], 3, /layer 4 holds no list/],
      [["--rows", file("6", "[1]")], 3, /found no object/],
      [["--rows", file("7", "{")], 3, /not JSON/],
      [["--rows", file("8", "{}")], 3, /asks for no rows/],
      [["--rows", file("11", '{"1": [0], "14": [2], "1": [1]}')], 3, /names a layer twice/],
      [["--rows", file("9", '{"four": [1]}')], 3, /found key "four", wanted a layer's id/],
      [["--rows", file("10", '{"3": [1]}')], 2, /layer 3/],
      [["--rows", join(folder, "none.json")], 4, /none\.json/],
    ];
    const before = () => namesIn(folder).filter((name) => !/^\d+$/.test(name));
    for (const [flags, code, says] of cases) {
      const found = await cli(
        ...["lookup", join(folder, "model"), "--device", "cpu", ...flags, "--out", out],
      );
      assert.equal(found.code, code, `${flags}: ${found.err}`);
      assert.match(found.err, says);
      assert.doesNotMatch(found.err, /Internal error/);
    }
    assert.deepEqual(before(), ["model", "text.txt"]);
  });
});

Deno.test("lookup reads only the rows it needs: the others may hold anything", async () => {
  await withModel(async ({ folder, text, lookup, model }) => {
    const path = join(folder, "model", "model.safetensors");
    const bytes = Deno.readFileSync(path);
    // Every row that the text does not need becomes NaN; the result must not change.
    const before = await lookup("--text", text);
    const tokenIds = before.get("token_ids", "I32").values;
    const needed = new Set(model.layerIds(0, model.ids(tokenIds, [])));
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    const [begin] = header["layers.4.engram.embed.weight"].data_offsets;
    for (let row = 0; row < model.layers[0].codes.length / 40; row++) {
      const at = 8 + length + begin + row * 40;
      if (!needed.has(row)) bytes.fill(0x7f, at, at + 40);
    }
    Deno.writeFileSync(path, bytes);
    const after = await lookup("--text", text);
    assert.deepEqual(
      after.get("layers.4.rows", "BF16").values,
      before.get("layers.4.rows", "BF16").values,
    );
  });
});

Deno.test("any JSON in place of row numbers is looked up or refused, never an internal error", async () => {
  await withModel(async ({ folder }) => {
    const file = join(folder, "rows.json");
    const row = fc.oneof(fc.integer({ min: -3, max: 700 }), fc.jsonValue({ maxDepth: 1 }));
    const asked = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom("4", "1", "2", "-1", "x"), fc.array(row, { maxLength: 4 })),
    );
    await fc.assert(
      fc.asyncProperty(asked, async (value) => {
        Deno.writeTextFileSync(file, JSON.stringify(value));
        const place = join(folder, "model");
        const { code, out, err } = await cli("lookup", place, "--rows", file, "--device", "cpu");
        assert.ok([0, 2, 3].includes(code), `${code}: ${err}`);
        assert.equal(out === "", code !== 0);
        assert.doesNotMatch(err, /Internal error|undefined|\[object/);
      }),
      { numRuns: 60 },
    );
  });
});
