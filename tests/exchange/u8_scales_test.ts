import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";

Deno.test("scales stored as U8 are looked up and evaluated like F8_E8M0", async () => {
  const model = new SyntheticModel({
    layerIds: [4, 1],
    maxNgramSize: 3,
    nHeads: 2,
    headDim: 64,
    vocabSize: 60,
    hidden: 8,
    copies: 2,
    eps: 1e-6,
  });
  await inFolder(async (folder) => {
    const place = model.write(join(folder, "model"));
    const tensors = join(place, "model.safetensors");
    const bytes = Deno.readFileSync(tensors);
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = new TextDecoder().decode(bytes.subarray(8, 8 + length));
    // White space between JSON's tokens keeps every offset.
    const changed = header.replaceAll('"F8_E8M0"', '"U8"     ');
    assert.notEqual(changed, header);
    bytes.set(new TextEncoder().encode(changed), 8);
    Deno.writeFileSync(tensors, bytes);

    const ids = [5, 900, 17, 17, 1999, 0, 321];
    const [list, rows, gates] = ["ids.json", "rows.safetensors", "gates.safetensors"]
      .map((name) => join(folder, name));
    Deno.writeTextFileSync(list, JSON.stringify(ids));
    const on = ["--ids", list, "--device", "cpu"];
    const looked = await cli("lookup", place, ...on, "--out", rows);
    assert.equal(looked.code, 0, looked.err);
    const hashed = model.ids(ids, ids.map(() => 0));
    model.sizes.layerIds.forEach((id, l) =>
      assert.deepEqual(
        new TensorFile(rows).get(`layers.${id}.rows`, "BF16").values,
        model.rows(l, model.layerIds(l, hashed)),
      )
    );
    const evaluated = await cli(
      "eval",
      place,
      ...on,
      ...["--seed", "1", "--keep", "kv", "--out", gates],
    );
    assert.equal(evaluated.code, 0, evaluated.err);
    const kv = new TensorFile(gates).get("layers.4.kv", "BF16").values;
    const { sums } = model.project(0, model.rows(0, model.layerIds(0, hashed)), ids.length);
    kv.forEach((bits, i) => {
      const value = new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
      assert.ok(Math.abs(value - sums[i]) <= 2 ** -7 * Math.abs(sums[i]) + 1e-4, `${i}`);
    });
  });
});
