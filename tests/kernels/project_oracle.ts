import type { ProjectionWeights } from "../../lib/engram/kernels.ts";
import { bf16Number } from "./bf16_oracle.ts";

/** Float64 sums, and the sums of the terms' sizes. */
export function projectOracle(
  { outFeatures, inFeatures, codes, scales, block }: ProjectionWeights,
  rows: Uint16Array,
  tokens: number,
): { sums: Float64Array; sizes: Float64Array } {
  const weight = Float64Array.from(codes, (code, i) => {
    if (!scales) return bf16Number(code);
    const row = Math.floor(Math.floor(i / inFeatures) / block[0]);
    const column = Math.floor((i % inFeatures) / block[1]);
    return fp8Number(code) * 2 ** (scales[row * Math.ceil(inFeatures / block[1]) + column] - 127);
  });
  const x = Float64Array.from(rows, bf16Number);
  const sums = new Float64Array(tokens * outFeatures);
  const sizes = new Float64Array(tokens * outFeatures);
  for (let t = 0; t < tokens; t++) {
    for (let n = 0; n < outFeatures; n++) {
      for (let k = 0; k < inFeatures; k++) {
        const term = weight[n * inFeatures + k] * x[t * inFeatures + k];
        sums[t * outFeatures + n] += term;
        sizes[t * outFeatures + n] += Math.abs(term);
      }
    }
  }
  return { sums, sizes };
}

/** An fp8 e4m3fn code's value, spelt out from its fields. */
function fp8Number(code: number): number {
  const sign = code >= 128 ? -1 : 1;
  const exponent = Math.floor((code % 128) / 8);
  const fraction = (code % 8) / 8;
  return sign * (exponent === 0 ? fraction * 2 ** -6 : (1 + fraction) * 2 ** (exponent - 7));
}

/** Float32 sums of terms of this size may differ by so much, in any order. */
export function slackOf(sizes: Float64Array): (i: number) => number {
  return (i) => sizes[i] * 2e-6;
}
