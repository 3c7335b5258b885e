import assert from "node:assert/strict";
import type { GateInput, GateWeights } from "../../lib/engram/kernels.ts";
import { bf16Number } from "./bf16_oracle.ts";

/** The spec's formula in doubles, and the size of each output's terms. */
export function gateOracle(
  { hidden, copies, q, k, eps }: GateWeights,
  { tokens, stream, kv, mask }: GateInput,
) {
  const gate = new Float64Array(tokens * copies);
  const output = new Float64Array(tokens * copies * hidden);
  const sizes = new Float64Array(output.length);
  for (let t = 0; t < tokens; t++) {
    for (let c = 0; c < copies; c++) {
      const h = (i: number) => bf16Number(stream[(t * copies + c) * hidden + i]);
      const key = (i: number) => bf16Number(kv[(t * (copies + 1) + c) * hidden + i]);
      const value = (i: number) => bf16Number(kv[(t * (copies + 1) + copies) * hidden + i]);
      const weight = (i: number) => bf16Number(q[c * hidden + i]) * bf16Number(k[c * hidden + i]);
      const sum = (term: (i: number) => number) => {
        let total = 0;
        for (let i = 0; i < hidden; i++) total += term(i);
        return total;
      };
      const rsqrt = (x: number) => 1 / Math.sqrt(x);
      const dot = sum((i) => h(i) * weight(i) * key(i)) *
        rsqrt(sum((i) => h(i) ** 2) / hidden + eps) *
        rsqrt(sum((i) => key(i) ** 2) / hidden + eps) / Math.sqrt(hidden);
      const sign = dot < 0 ? -1 : 1;
      const g = 1 / (1 + Math.exp(-sign * Math.sqrt(Math.max(Math.abs(dot), 1e-6))));
      const kept = !mask || mask[t] !== 0;
      gate[t * copies + c] = kept ? g : 0;
      for (let i = 0; i < hidden; i++) {
        const at = (t * copies + c) * hidden + i;
        output[at] = kept ? h(i) + g * value(i) : h(i);
        sizes[at] = Math.abs(h(i)) + Math.abs(g * value(i));
      }
    }
  }
  return { gate, output, sizes };
}

/** Gates within 1e-5 of the doubles. */
export function assertGates(found: Float32Array, wanted: ArrayLike<number>): void {
  assert.equal(found.length, wanted.length);
  for (let i = 0; i < found.length; i++) {
    assert.ok(Math.abs(found[i] - wanted[i]) <= 1e-5, `gate ${i}: ${found[i]}, not ${wanted[i]}`);
  }
}
