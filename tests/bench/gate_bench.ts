/** The gate on the CPU, beside float32 sums rounded at every step, as the GPU takes them. */
import { gate } from "../../lib/engram/gate.ts";
import { toBf16, widenBf16 } from "../../lib/table/bf16.ts";
import { randomBf16 } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";

const HIDDEN = 5120;
const COPIES = 4;
const TOKENS = 16;

const random = new Random(1);
const values = (count: number) => randomBf16(random, count);
const [q, k] = [values(COPIES * HIDDEN), values(COPIES * HIDDEN)];
const stream = values(TOKENS * COPIES * HIDDEN);
const kv = values(TOKENS * (COPIES + 1) * HIDDEN);
const weights = { hidden: HIDDEN, copies: COPIES, q, k, eps: 1e-20 };

Deno.bench(`gate of ${TOKENS} tokens, ${COPIES} × ${HIDDEN}`, { baseline: true }, () => {
  gate(weights, { tokens: TOKENS, stream, kv });
});

Deno.bench("the same with float32 sums", () => {
  const [wideQ, wideK] = [widenBf16(q), widenBf16(k)];
  const [h, x] = [widenBf16(stream), widenBf16(kv)];
  const output = new Uint16Array(stream.length);
  const f = Math.fround;
  for (let t = 0; t < TOKENS; t++) {
    for (let c = 0; c < COPIES; c++) {
      const at = (t * COPIES + c) * HIDDEN;
      const key = (t * (COPIES + 1) + c) * HIDDEN;
      const value = (t * (COPIES + 1) + COPIES) * HIDDEN;
      let dot = 0, hh = 0, kk = 0;
      for (let i = 0; i < HIDDEN; i++) {
        const w = f(wideQ[c * HIDDEN + i] * wideK[c * HIDDEN + i]);
        dot = f(dot + f(f(h[at + i] * w) * x[key + i]));
        hh = f(hh + f(h[at + i] * h[at + i]));
        kk = f(kk + f(x[key + i] * x[key + i]));
      }
      const normed = dot / Math.sqrt(hh / HIDDEN + 1e-20) / Math.sqrt(kk / HIDDEN + 1e-20);
      const root = Math.sqrt(Math.max(Math.abs(normed) / Math.sqrt(HIDDEN), 1e-6));
      const g = f(1 / (1 + Math.exp(normed < 0 ? root : -root)));
      for (let i = 0; i < HIDDEN; i++) output[at + i] = toBf16(h[at + i] + g * x[value + i]);
    }
  }
});
