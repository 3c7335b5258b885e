import assert from "node:assert/strict";
import type { BenchResult } from "../../cli/bench/record.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { hasGpu } from "./open_gpu.ts";

const MINI = goldenPath("mini");
const QUICK = ["--tokens", "5", "--samples", "2", "--warmup", "0", "--json", "--checkpoint", MINI];

if (await hasGpu()) {
  Deno.test("bench lookup and eval measure a table on the GPU by the wall and by its clock", async () => {
    for (const [what, name] of [["lookup", /^GPU/], ["eval", /, rows from GPU/]] as const) {
      const args = ["bench", what, ...QUICK, "--backend", "gpu,file", "--device", "gpu"];
      const { code, err, json } = await cli(...args);
      assert.equal(code, 0, err);
      const [wall, clock, ...more] = (json().results as BenchResult[]).filter(({ variant }) =>
        name.test(variant)
      );
      assert.deepEqual(more, []);
      assert.equal(wall.samples.length, 2);
      assert.equal(wall.gpuSamples, null);
      assert.match(clock.variant, /clock$/);
      assert.deepEqual(clock.samples, []);
      assert.ok(clock.gpuSamples!.every((seconds) => seconds > 0));
      assert.deepEqual(clock.work, wall.work);
      assert.equal(json().machine.adapter, clock.parameters.adapter);
    }
  });
}

Deno.test("bench leaves the GPU's backend out, and says why, where kernels run on the CPU", async () => {
  const args = ["bench", "lookup", ...QUICK, "--backend", "gpu,file", "--device", "cpu"];
  const { code, err, json } = await cli(...args);
  assert.equal(code, 0, err);
  assert.match(err, /gpu: left out, Cannot keep tables on the GPU: kernels run on CPU/);
  const variants = (json().results as BenchResult[]).map(({ variant }) => variant);
  assert.deepEqual(variants, ["memory copy", "file", "file, not decoded", "file, one by one"]);
});
