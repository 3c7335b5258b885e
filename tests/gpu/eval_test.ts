import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { deadToken, evalModels, MODELS, SIZES, TEXT } from "../cli/eval_models.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { assertNearBf16, assertSameBits, bf16Number } from "../kernels/bf16_oracle.ts";
import { assertGates } from "../kernels/gate_oracle.ts";
import { cli } from "../run_cli.ts";
import { hasGpu } from "./open_gpu.ts";

const ignore = !(await hasGpu());

// Every model once by each of the ways that rows get to the GPU.
for (const backend of ["gpu", "file"]) {
  evalModels("gpu", Object.keys(MODELS), { ignore, flags: ["--backend", backend] });
}
evalModels("gpu", ["small and square"], { ignore, flags: ["--tp", "3", "--backend", "gpu"] });

/** What one device wrote must be what the other did. */
function assertAlike(found: TensorFile, wanted: TensorFile): void {
  for (const id of SIZES.layerIds) {
    const of = (file: TensorFile, part: string) => file.get(`layers.${id}.${part}`, "BF16").values;
    assertSameBits(of(found, "rows"), of(wanted, "rows"), `layer ${id} rows`);
    assertGates(
      found.get(`layers.${id}.gate`, "F32").values,
      wanted.get(`layers.${id}.gate`, "F32").values,
    );
    const near = Array.from(of(wanted, "output"), bf16Number);
    assertNearBf16(of(found, "output"), near, `layer ${id} output`, { slack: () => 2e-5 });
  }
}

Deno.test({
  name: "eval on the GPU of many texts, longer than a batch, is what it is on the CPU",
  ignore,
  fn: () =>
    inFolder(async (folder) => {
      const model = new SyntheticModel(SIZES).write(join(folder, "model"));
      const [long, short] = [join(folder, "long.txt"), join(folder, "short.txt")];
      // As many tokens as letters or more: three batches.
      const letters = Array.from({ length: 9000 }, (_, i) => "abcdefgh"[(i * i + (i >> 4)) % 8]);
      Deno.writeTextFileSync(long, letters.join(" "));
      Deno.writeTextFileSync(short, TEXT);
      const dead = String(await deadToken());
      const evaluated = async (...flags: string[]) => {
        const out = join(folder, `${flags.join("")}.safetensors`);
        const text = ["--text", short, long, short, "--dead-token", dead, "--seed", "4"];
        const args = ["eval", model, ...text, "--keep", "rows", "--out", out, "--device", ...flags];
        const { code, err } = await cli(...args);
        assert.equal(code, 0, err);
        return { err, file: new TensorFile(out) };
      };
      const { file: wanted } = await evaluated("cpu");
      assert.ok(wanted.get("dead", "U8").values.includes(1));
      assert.equal(wanted.get("starts", "I64").values.length, 4);
      const kept = await evaluated("gpu", "--backend", "gpu");
      assert.match(kept.err, /rows: of the checkpoint, on the GPU \(\d.* KiB\)/);
      assertAlike(kept.file, wanted);
      const mixed = await evaluated("gpu", "--gpu-memory", "12kB");
      assert.match(mixed.err, /layer 2 on the GPU .*; layer 5 from file, gathered on the host/);
      assert.match(mixed.err, /the table's 9\.86 KiB are more than the 3\.98 KiB/);
      assertAlike(mixed.file, wanted);
    }),
});

Deno.test({
  name:
    "a table the GPU refuses is gathered on the host by auto, and an error where it was demanded",
  ignore,
  fn: () =>
    inFolder(async (folder) => {
      const model = new SyntheticModel(SIZES).write(join(folder, "model"));
      const text = join(folder, "text.txt");
      Deno.writeTextFileSync(text, TEXT);
      const args = ["eval", model, "--text", text, "--seed", "1", "--device", "gpu"];
      const { code, out: wanted } = await cli(...args);
      assert.equal(code, 0);
      const { createBuffer } = GPUDevice.prototype;
      // Tables alone are made larger than the device allows.
      GPUDevice.prototype.createBuffer = function (descriptor) {
        const { label, size } = descriptor;
        // The self-test's table is small.
        const refused = label === "table" && size > 5000;
        const asked = refused ? this.limits.maxBufferSize + 16 : size;
        return createBuffer.call(this, { ...descriptor, size: asked });
      };
      try {
        const auto = await cli(...args);
        assert.equal(auto.code, 0, auto.err);
        assert.match(
          auto.err,
          /from file, gathered on the host and uploaded: .*takes \d+ bytes, and .* gave 0 and no more/,
        );
        assert.equal(auto.out, wanted);
        const demanded = await cli(...args, "--backend", "gpu", "--out", join(folder, "o.npy"));
        assert.equal(demanded.code, 4);
        assert.match(demanded.err, /error: Cannot keep a table on the GPU: it takes \d+ bytes/);
        assert.deepEqual(namesIn(folder), ["model", "text.txt"]);
      } finally {
        GPUDevice.prototype.createBuffer = createBuffer;
      }
    }),
});
