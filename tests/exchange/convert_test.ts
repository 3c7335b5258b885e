import assert from "node:assert/strict";
import { join } from "node:path";
import { encodeRows } from "../../lib/exchange/encode_rows.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { bf16Number, nearestBf16 } from "../kernels/bf16_oracle.ts";
import { cli } from "../run_cli.ts";

const SIZES = {
  layerIds: [4, 1],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 40,
  vocabSize: 30,
  hidden: 8,
  copies: 1,
  eps: 1e-6,
  paddingRows: 3,
};
const KINDS = ["fp8", "int8", "bf16", "f16", "f32", "packed"] as const;
const TARGETS = ["int8", "bf16", "packed"] as const;

/** All rows of layer 4 of a model as numbers, by the tests' own decoding. */
function numbers(model: SyntheticModel, rows: number): number[] {
  const ids = Array.from({ length: rows }, (_, row) => row);
  return [...model.rows(0, ids)].map(bf16Number);
}

/** Half of a step of each encoding at a value, in a group whose largest magnitude is `most`. */
const HALF_STEP = {
  int8: (_value: number, most: number) => most / 254,
  // 8 bits, then once more where a lookup rounds.
  bf16: (value: number) => Math.abs(value) * 2 ** -8,
  // 3 bits of mantissa, and 2^-9 of the scale for the smallest.
  packed: (value: number, most: number) =>
    Math.max(Math.abs(value) * 2 ** -4, most / 224 * 2 ** -10),
};

for (const kind of KINDS) {
  for (const to of TARGETS) {
    Deno.test(`${kind} rows to ${to}: within half a step, truly labelled, open everywhere`, async () => {
      await inFolder(async (folder) => {
        const model = new SyntheticModel({ ...SIZES, kind }, 3);
        const [from, out] = [join(folder, "from"), join(folder, "out")];
        model.write(from);
        const made = await cli("convert", from, "--to", to, "--out", out, "--json");
        assert.equal(made.code, 0, made.err);
        assert.deepEqual(namesIn(out), [
          "config.json",
          "model-00001-of-00002.safetensors",
          "model-00002-of-00002.safetensors",
          "model.safetensors.index.json",
          "tokenizer.json",
        ]);
        const [layer] = made.json().layers;
        assert.deepEqual(layer.dtypes, { int8: ["I8", "F32"], bf16: ["BF16"], packed: ["U8"] }[to]);
        const verified = await cli("verify", out);
        assert.equal(verified.code, 0, verified.err);

        const rows = model.layout.layers[0].rows + SIZES.paddingRows;
        const ids = join(folder, "rows.json");
        Deno.writeTextFileSync(
          ids,
          JSON.stringify({ "4": Array.from({ length: rows }, (_, row) => row) }),
        );
        const looked = join(folder, "rows.safetensors");
        const result = await cli(
          "lookup",
          join(out, "model-00001-of-00002.safetensors"),
          ...["--rows", ids, "--device", "cpu", "--out", looked],
        );
        assert.equal(result.code, 0, result.err);
        const found = [...new TensorFile(looked).get("layers.4.rows", "BF16").values]
          .map(bf16Number);
        const wanted = numbers(model, rows);
        assert.equal(found.length, wanted.length);

        // Where fp8 or bf16 rows only change their place, every bit stays.
        const exact = to === "packed"
          ? kind === "fp8" || kind === "packed"
          : to === "bf16" && kind !== "int8";
        let largest = 0;
        for (let i = 0; i < wanted.length; i++) {
          const start = i - (i % 40 % 32);
          const group = wanted.slice(start, Math.min(start + 32, start - (start % 40) + 40));
          const most = Math.max(...group.map(Math.abs));
          const error = Math.abs(found[i] - wanted[i]);
          // The lookup of source and result round to bf16 once each.
          const rounding = (Math.abs(wanted[i]) + Math.abs(found[i])) * 2 ** -8;
          const allowed = exact ? 0 : HALF_STEP[to](wanted[i], most) * 1.0001 + rounding;
          assert.ok(error <= allowed, `value ${i}: ${found[i]} for ${wanted[i]} of ${most}`);
          largest = Math.max(largest, error);
        }
        if (kind === "f32" || kind === "f16") return;
        const told = Math.max(
          ...layer.columns.map(({ largest_error }: { largest_error: number }) => largest_error),
        );
        assert.equal(told, largest);
      });
    });
  }
}

Deno.test("columns' errors are those of their own rows, padding apart", async () => {
  await inFolder(async (folder) => {
    const model = new SyntheticModel({ ...SIZES, kind: "bf16" }, 4);
    model.write(join(folder, "from"));
    const made = await cli(
      "convert",
      join(folder, "from"),
      ...["--to", "int8", "--out", join(folder, "out"), "--json"],
    );
    const { columns } = made.json().layers[0];
    const { primes, rows } = model.layout.layers[0];
    assert.deepEqual(
      columns.map((
        column: { column: number | null; rows: number },
      ) => [column.column, column.rows]),
      [...primes.flat().map((prime, i) => [i, prime]), [null, SIZES.paddingRows]],
    );
    const values = numbers(model, rows + SIZES.paddingRows);
    let at = 0;
    for (const { rows, largest_error, rms_error, rms_value } of columns) {
      let [largest, squares, valueSquares] = [0, 0, 0];
      for (let row = 0; row < rows; row++, at += 40) {
        for (const [from, end] of [[0, 32], [32, 40]]) {
          const group = values.slice(at + from, at + end);
          const scale = Math.fround(Math.max(...group.map(Math.abs)) / 127);
          for (const value of group) {
            const code = nearestEven(value / scale);
            const error = bf16Number(nearestBf16(Math.fround(code * scale))) - value;
            largest = Math.max(largest, Math.abs(error));
            squares += error * error;
            valueSquares += value * value;
          }
        }
      }
      assert.equal(largest_error, largest);
      assert.ok(Math.abs(rms_error - Math.sqrt(squares / rows / 40)) < 1e-12);
      assert.ok(Math.abs(rms_value - Math.sqrt(valueSquares / rows / 40)) < 1e-12);
    }
  });
});

Deno.test("a NaN code is told with its row and spreads to no other value", async () => {
  await inFolder(async (folder) => {
    const model = new SyntheticModel({ ...SIZES, kind: "fp8" }, 3);
    model.layers[0].codes[40 * 11 + 7] = 0x7f;
    model.write(join(folder, "from"));
    for (const to of TARGETS) {
      const out = join(folder, to);
      const made = await cli("convert", join(folder, "from"), "--to", to, "--out", out, "--json");
      assert.equal(made.code, 0);
      assert.match(made.err, /layer 4 has 1 NaN values: row 11 value 7/);
      assert.deepEqual(made.json().layers[0].nan, { count: 1, first: [{ row: 11, value: 7 }] });
      const ids = join(folder, "ids.json");
      Deno.writeTextFileSync(ids, `{"4":[11]}`);
      const looked = join(folder, `${to}.safetensors`);
      await cli(
        "lookup",
        join(out, "model-00001-of-00002.safetensors"),
        ...["--rows", ids, "--device", "cpu", "--out", looked],
      );
      const row = [...new TensorFile(looked).get("layers.4.rows", "BF16").values].map(bf16Number);
      assert.deepEqual(
        row.flatMap((value, i) => (Number.isNaN(value) ? [i] : [])),
        to === "int8" ? [] : [7],
      );
      if (to === "int8") assert.equal(row[7], 0);
    }
  });
});

Deno.test("the fp8 code is the nearest of all, ties to even", () => {
  const products = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;
  const codes = Array.from({ length: 127 }, (_, code) => bf16Number(products[127 * 256 + code]));
  const wanted = (value: number) => {
    const distances = codes.map((code) => Math.abs(code - value));
    const least = Math.min(...distances);
    const nearest = distances.flatMap((distance, code) => (distance === least ? [code] : []));
    return nearest.length === 1 ? nearest[0] : nearest.find((code) => code % 2 === 0)!;
  };
  const values = codes.flatMap((code, i) => {
    const next = codes[i + 1] ?? code;
    return [code, (code + next) / 2, code * 0.75 + next * 0.25, code * 0.25 + next * 0.75];
  });
  for (const value of values) {
    // 448 beside it keeps the scale at one.
    const row = new Float32Array(32);
    row.set([448, value, -value]);
    const made = new Uint8Array(32);
    const scales = new Uint8Array(1);
    encodeRows(rowEncoding("fp8", 32), row, made, scales);
    assert.equal(scales[0], 127);
    assert.deepEqual(
      [...made.slice(0, 3)],
      [0x7e, wanted(value), wanted(value) | 0x80],
      `${value}`,
    );
  }
});

Deno.test("int8 halves go to the even code; zeros, infinities and tiny values stay apart", () => {
  const encode = (values: number[]) => {
    const codes = new Uint8Array(values.length);
    const scales = new Uint8Array(4);
    encodeRows(rowEncoding("int8", values.length), Float32Array.from(values), codes, scales);
    return { codes: [...new Int8Array(codes.buffer)], scale: new Float32Array(scales.buffer)[0] };
  };
  assert.deepEqual(encode([127, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5]), {
    codes: [127, 0, 2, 2, 0, -2, 126],
    scale: 1,
  });
  assert.deepEqual(encode([0, -0]), { codes: [0, 0], scale: 0 });
  assert.deepEqual(encode([NaN, Infinity, -Infinity, 127]), {
    codes: [0, 127, -127, 127],
    scale: 1,
  });
  const tiny = encode([2 ** -149, 2 ** -140, -(2 ** -140)]);
  assert.ok(tiny.codes.every((code) => Math.abs(code) <= 127));
});

Deno.test("an output folder inside the checkpoint, and files that exist, are refused", async () => {
  await inFolder(async (folder) => {
    const model = new SyntheticModel(SIZES, 3);
    const from = model.write(join(folder, "from"));
    const inside = await cli("convert", from, "--to", "int8", "--out", join(from, "int8"));
    assert.equal(inside.code, 2);
    const out = join(folder, "out");
    assert.equal((await cli("convert", from, "--to", "int8", "--out", out)).code, 0);
    const again = await cli("convert", from, "--to", "bf16", "--out", out);
    assert.equal(again.code, 4);
    assert.match(again.err, /exists already[^]*--force/);
    assert.equal((await cli("convert", from, "--to", "bf16", "--out", out, "--force")).code, 0);
    assert.equal((await cli("verify", out)).code, 0);
  });
});

function nearestEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
