import assert from "node:assert/strict";
import type { ProjectionWeights } from "../../../lib/engram/kernels.ts";
import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { Projection } from "../../../lib/gpu/projection.ts";
import { fp8Value } from "../../../lib/table/fp8.ts";
import { fromBf16, toBf16 } from "../../../lib/table/bf16.ts";
import { randomBf16, randomFp8 } from "./random_bf16.ts";
import type { Report } from "./report.ts";
import { timeDispatches } from "./time_dispatches.ts";

/** The released `wkv`, or one like it, of random codes. */
export function randomWkv(small: boolean): ProjectionWeights {
  const [outFeatures, inFeatures] = small ? [320, 768] : [25600, 6144];
  return {
    outFeatures,
    inFeatures,
    codes: randomFp8(outFeatures * inFeatures),
    scales: Uint8Array.from(
      { length: outFeatures * inFeatures / 1024 },
      () => 112 + Math.random() * 8,
    ),
    block: [32, 32],
  };
}

/** The projection for one token to many; operations counted as two for a weight and token. */
export async function benchProjection({ gpu }: GpuKernels, report: Report, small: boolean) {
  const weights = randomWkv(small);
  const { outFeatures, inFeatures } = weights;
  const projection = await Projection.create(gpu, weights);
  assert.ok(projection.fp8);
  for (const tokens of small ? [1, 70] : [1, 2, 4, 8, 16, 32, 64, 128, 512, 8192]) {
    const rows = randomBf16(tokens * inFeatures);
    const input = await gpu.upload(rows, "rows");
    const size = 2 * tokens * outFeatures;
    const out = await gpu.buffer(size, "kv");
    const dispatches = projection.dispatches(input, out, tokens);
    const seconds = await timeDispatches(gpu, [dispatches], { quick: small });
    const [bytes] = await gpu.submit(dispatches, [{ buffer: out, size }]);
    report.add({
      name: "projection",
      size: `${tokens} × ${inFeatures} → ${outFeatures}`,
      seconds,
      counts: tokens < 64
        ? { amount: outFeatures * inFeatures, unit: "bytes" }
        : { amount: 2 * tokens * outFeatures * inFeatures, unit: "flop" },
      checked: check(weights, rows, tokens, new Uint16Array(bytes.buffer)),
    });
    for (const buffer of [input, out]) buffer.destroy();
  }
  projection.destroy();
}

/** Random outputs against sums in double precision. */
function check(
  w: ProjectionWeights,
  rows: Uint16Array,
  tokens: number,
  found: Uint16Array,
): string {
  const checked = 3000;
  const scaleColumns = w.inFeatures / 32;
  let apart = 0;
  for (let i = 0; i < checked; i++) {
    const token = i === 0 ? tokens - 1 : Math.floor(Math.random() * tokens);
    const n = i === 0 ? w.outFeatures - 1 : Math.floor(Math.random() * w.outFeatures);
    let sum = 0;
    let size = 0;
    for (let k = 0; k < w.inFeatures; k++) {
      const scale = 2 ** (w.scales![Math.floor(n / 32) * scaleColumns + Math.floor(k / 32)] - 127);
      const term = fp8Value(w.codes[n * w.inFeatures + k]) * scale *
        fromBf16(rows[token * w.inFeatures + k]);
      sum += term;
      size += Math.abs(term);
    }
    const bits = found[token * w.outFeatures + n];
    if (bits === toBf16(sum)) continue;
    apart++;
    const error = Math.abs(fromBf16(bits) - sum);
    assert.ok(
      error <= Math.abs(sum) / 128 + size * 1e-6,
      `token ${token}, output ${n}: ${fromBf16(bits)}, not ${sum}`,
    );
  }
  assert.ok(apart <= checked / 100, `${apart} of ${checked} outputs differ`);
  return `${apart} of ${checked} outputs differ`;
}
