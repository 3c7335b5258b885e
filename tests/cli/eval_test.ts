import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { seededHidden } from "../engram/seeded_hidden_oracle.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { assertNearBf16, assertSameBits, bf16Number } from "../kernels/bf16_oracle.ts";
import { assertGates } from "../kernels/gate_oracle.ts";
import { cli } from "../run_cli.ts";
import { deadToken, evalModels, MODELS, SIZES, TEXT } from "./eval_models.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

evalModels("cpu", Object.keys(MODELS));

Deno.test("eval of the golden checkpoint gives the golden gates and outputs", async () => {
  await inFolder(async (folder) => {
    const expected = goldenTensors("mini/expected.safetensors");
    const out = join(folder, "out.safetensors");
    const tokenIds = expected.get("token_ids", "I32").values;
    const { code, err } = await cli(
      "eval",
      goldenPath("mini"),
      // Its `dead` flags count as well.
      ...["--ids", goldenPath("mini/expected.safetensors")],
      ...["--tokenizer", await realTokenizer("deepseek_v3")],
      ...["--hidden", goldenPath("mini/expected.safetensors")],
      ...["--keep", "kv,rows", "--out", out, "--device", "cpu"],
    );
    assert.equal(code, 0, err);
    const file = new TensorFile(out);
    assert.deepEqual(file.get("token_ids", "I32").values, tokenIds);
    assert.deepEqual(file.get("dead", "U8").values, expected.get("dead", "U8").values);
    for (const name of ["layers.1", "layers.14"]) {
      const rows = expected.get(`${name}.rows_bf16_bits`, "I32").values;
      assertSameBits(file.get(`${name}.rows`, "BF16").values, rows, `${name}.rows`);
      const kv = Array.from(expected.get(`${name}.kv`, "BF16").values, bf16Number);
      assertNearBf16(file.get(`${name}.kv`, "BF16").values, kv, name, { slack: () => 2e-5 });
      assertGates(
        file.get(`${name}.gate`, "F32").values,
        expected.get(`${name}.gate_f64`, "F64").values,
      );
      assertNearBf16(
        file.get(`${name}.output`, "BF16").values,
        expected.get(`${name}.output_f64`, "F64").values,
        name,
      );
    }
  });
});

/** A small model and a text, in a folder of their own. */
async function withModel(
  test: (model: { folder: string; text: string; args: string[] }) => Promise<void>,
  text = TEXT,
): Promise<void> {
  await inFolder(async (root) => {
    const folder = new SyntheticModel(SIZES).write(join(root, "model"));
    const path = join(root, "text.txt");
    Deno.writeTextFileSync(path, text);
    await test({ folder: root, text: path, args: ["eval", folder, "--device", "cpu"] });
  });
}

Deno.test("eval without --out shows tokens with their gates, dead ones marked", async () => {
  await withModel(async ({ text, args }) => {
    const dead = String(await deadToken());
    const flags = ["--text", text, "--seed", "3", "--dead-token", dead];
    const shown = await cli(...args, ...flags);
    assert.equal(shown.code, 0, shown.err);
    assert.match(shown.out, /tokens of 1 request, 1 dead; hidden from seed 3/);
    assert.match(shown.out, new RegExp(`^ *6 +${dead} .* dead +dead$`, "m"));
    for (const id of [2, 5]) assert.match(shown.out, new RegExp(`layer ${id}: mean gate 0\\.`));
    assert.match(shown.out, /strongest\n.*\n/);
    assert.match(shown.out, /weakest\n.*\n/);
    assert.match(shown.err, /device: CPU/);

    const { json } = await cli(...args, ...flags, "--json");
    const value = json();
    assert.equal(value.dead_tokens, 1);
    assert.deepEqual(value.layers.map((layer: { layer_id: number }) => layer.layer_id), [2, 5]);
    for (const { strongest, weakest, min_gate, max_gate, mean_gate } of value.layers) {
      const means = strongest.map((entry: { mean: number }) => entry.mean);
      assert.deepEqual(means, [...means].sort((a, b) => b - a));
      assert.ok(min_gate > 0 && min_gate <= weakest[0].mean && max_gate >= means[0]);
      assert.ok(min_gate < mean_gate && mean_gate < max_gate);
      assert.ok(![...strongest, ...weakest].some((entry) => entry.dead));
    }
  });
});

Deno.test("eval of many texts: each is a request of its own; an empty one has no tokens", async () => {
  await withModel(async ({ folder, text, args }) => {
    const empty = join(folder, "empty.txt");
    Deno.writeTextFileSync(empty, "");
    const one = join(folder, "one.safetensors");
    const three = join(folder, "three.safetensors");
    await cli(...args, "--text", text, "--seed", "1", "--keep", "rows", "--out", one);
    const done = await cli(
      ...args,
      ...["--text", text, empty, text, "--seed", "1", "--keep", "rows", "--out", three, "--json"],
    );
    assert.equal(done.code, 0, done.err);
    assert.equal(done.json().requests, 3);
    const [first, all] = [new TensorFile(one), new TensorFile(three)];
    const tokens = first.get("token_ids", "I32").values.length;
    assert.deepEqual(
      [...all.get("starts", "I64").values].map(Number),
      [0, tokens, tokens, 2 * tokens],
    );
    const rows = first.get("layers.2.rows", "BF16").values;
    assert.deepEqual(all.get("layers.2.rows", "BF16").values, Uint16Array.of(...rows, ...rows));

    const none = join(folder, "none.safetensors");
    const nothing = await cli(...args, "--text", empty, "--seed", "1", "--out", none);
    assert.equal(nothing.code, 0, nothing.err);
    assert.deepEqual(new TensorFile(none).get("layers.5.output", "BF16").shape, [0, 2, 32]);
    const shown = await cli(...args, "--text", empty, "--seed", "1");
    assert.match(shown.out, /0 tokens of 1 request/);
    assert.match(shown.out, /layer 2: no live token/);
  });
});

Deno.test("eval of more tokens than a batch holds goes on where the last one ended", async () => {
  // 9,000 letters apart are 9,000 tokens or more: three batches.
  const letters = Array.from({ length: 9000 }, (_, i) => "abcdefgh"[(i * i + (i >> 4)) % 8]);
  await withModel(async ({ folder, text, args }) => {
    const out = join(folder, "out.safetensors");
    const flags = ["--text", text, "--seed", "9", "--keep", "rows,hidden", "--out", out];
    const { code, err } = await cli(...args, ...flags);
    assert.equal(code, 0, err);
    const file = new TensorFile(out);
    const tokenIds = file.get("token_ids", "I32").values;
    assert.ok(tokenIds.length > 8200, `${tokenIds.length} tokens`);
    const model = new SyntheticModel(SIZES);
    const rows = file.get("layers.5.rows", "BF16").values;
    const hidden = file.get("layers.5.hidden", "BF16").values;
    for (const first of [0, 4090, 8186, tokenIds.length - 10]) {
      const ids = model.ids(tokenIds.subarray(0, first + 10), []).slice(first);
      const wanted = model.rows(1, model.layerIds(1, ids));
      assertSameBits(rows.subarray(first * 128, (first + 10) * 128), wanted, `from ${first}`);
      assert.deepEqual(
        [...hidden.subarray(first * 64, (first + 10) * 64)],
        seededHidden(9, 5, first * 64, 640),
      );
    }
  }, letters.join(" "));
});

Deno.test("eval as JSON lines", async () => {
  await withModel(async ({ folder, text, args }) => {
    const [tensors, lines] = [join(folder, "o.safetensors"), join(folder, "o.jsonl")];
    await cli(...args, "--text", text, "--seed", "1", "--out", tensors);
    const { code, err } = await cli(...args, "--text", text, "--seed", "1", "--out", lines);
    assert.equal(code, 0, err);
    const file = new TensorFile(tensors);
    const parsed = Deno.readTextFileSync(lines).trimEnd().split("\n").map((l) => JSON.parse(l));
    assert.deepEqual(parsed.map((line) => line.token_id), [...file.get("token_ids", "I32").values]);
    assert.deepEqual(
      parsed.flatMap((line) => line["layers.5.gate"]),
      [...file.get("layers.5.gate", "F32").values],
    );
    assert.deepEqual(
      parsed.flatMap((line) => line["layers.2.output"].flat()),
      Array.from(file.get("layers.2.output", "BF16").values, bf16Number),
    );
    assert.deepEqual(Object.keys(parsed[0]).slice(0, 4), [
      "request",
      "position",
      "token_id",
      "dead",
    ]);
  });
});

Deno.test("eval as .npy: the outputs as float32, layers side by side", async () => {
  await withModel(async ({ folder, text, args }) => {
    const [tensors, npy] = [join(folder, "o.safetensors"), join(folder, "o.npy")];
    await cli(...args, "--text", text, "--seed", "1", "--out", tensors);
    const { code, err } = await cli(...args, "--text", text, "--seed", "1", "--out", npy);
    assert.equal(code, 0, err);
    const file = new TensorFile(tensors);
    const layers = [2, 5].map((id) => file.get(`layers.${id}.output`, "BF16"));
    const [tokens] = layers[0].shape;
    const bytes = Deno.readFileSync(npy);
    const header = 10 + new DataView(bytes.buffer).getUint16(8, true);
    const text10 = new TextDecoder().decode(bytes.subarray(10, header));
    assert.ok(text10.includes(`'<f4', 'fortran_order': False, 'shape': (${tokens}, 2, 2, 32)`));
    const wanted = Array.from(
      { length: tokens },
      (_, t) =>
        layers.map(({ values }) => Array.from(values.subarray(t * 64, (t + 1) * 64), bf16Number)),
    );
    assert.deepEqual([...new Float32Array(bytes.slice(header).buffer)], wanted.flat(2));
  });
});

Deno.test("eval refuses what cannot be meant, and leaves no file", async () => {
  await withModel(async ({ folder, text, args }) => {
    const out = join(folder, "out.safetensors");
    const golden = goldenPath("mini/expected.safetensors");
    const cases: [flags: string[], code: number, says: RegExp][] = [
      [["--text", text], 2, /neither --hidden nor --seed, wanted one/],
      [["--text", text, "--seed", "1", "--hidden", golden], 2, /both --hidden and --seed/],
      [["--seed", "1"], 2, /neither --text nor --ids/],
      [["--text", text, "--seed", "-1"], 2, /--seed/],
      [["--text", text, "--seed", "1", "--keep", "rows,bats"], 2, /found "bats"/],
      [["--text", text, "--hidden", golden], 3, /no tensor "layers.2.hidden"/],
      [["--text", text, "--hidden", join(folder, "none")], 4, /none/],
      [["--text", join(folder, "none.txt"), "--seed", "1"], 4, /no such file/],
    ];
    for (const [flags, code, says] of cases) {
      const found = await cli(...args, ...flags, "--out", out);
      assert.equal(found.code, code, `${flags}: ${found.err}`);
      assert.match(found.err, says);
      assert.doesNotMatch(found.err, /Internal error/);
    }
    const npy = ["--out", `${out}.npy`];
    const kept = await cli(...args, "--text", text, "--seed", "1", "--keep", "kv", ...npy);
    assert.match(kept.err, /--keep with/);
    const alone = await cli(...args, "--text", text, "--seed", "1", "--keep", "kv");
    assert.match(alone.err, /--keep without --out/);
    const ending = await cli(...args, "--text", text, "--seed", "1", "--out", `${out}.txt`);
    assert.match(ending.err, /wanted one of \.safetensors/);
    assert.deepEqual(namesIn(folder), ["model", "text.txt"]);

    await cli(...args, "--text", text, "--seed", "1", "--keep", "hidden", "--out", out);
    const again = await cli(...args, "--text", text, "--seed", "1", "--out", out);
    assert.equal(again.code, 4);
    assert.match(again.err, /--force/);
    const other = join(folder, "other.txt");
    Deno.writeTextFileSync(other, "Another text");
    const mismatch = await cli(...args, "--text", other, "--hidden", out);
    assert.equal(mismatch.code, 5, mismatch.err);
    const earlier = join(folder, "earlier.safetensors");
    Deno.copyFileSync(out, earlier);
    const written = await cli(
      ...args,
      ...["--text", other, "--hidden", out, "--out", earlier, "--force"],
    );
    assert.equal(written.code, 5);
    assert.deepEqual(Deno.readFileSync(earlier), Deno.readFileSync(out));
    const same = await cli(...args, "--text", text, "--hidden", out);
    assert.equal(same.code, 0, same.err);
  });
});

Deno.test("eval ends at a signal and leaves no file", async () => {
  await withModel(async ({ folder, text, args }) => {
    const { run } = await import("../../cli/run.ts");
    const streams = { out() {}, err() {}, terminal: false, outTerminal: false };
    const flags = [...args, "--text", text, "--seed", "1", "--out", join(folder, "o.safetensors")];
    assert.equal(await run(flags, streams, AbortSignal.abort()), 130);
    assert.deepEqual(namesIn(folder), ["model", "text.txt"]);
  });
});
