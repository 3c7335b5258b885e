/** The projection on the CPU, beside the plain loop that decodes each weight where it is used. */
import { project } from "../../lib/engram/project.ts";
import { fromBf16, toBf16 } from "../../lib/table/bf16.ts";
import { fp8Value } from "../../lib/table/fp8.ts";
import { randomBf16 } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";

// A fiftieth of the released outputs, at the released width: 3.1 M weights.
const OUT = 512;
const IN = 6144;

const random = new Random(1);
const codes = random.bytes(OUT * IN).map((code) => code & 0x6f);
const scales = new Uint8Array(OUT / 32 * IN / 32).fill(120);
const weights = {
  outFeatures: OUT,
  inFeatures: IN,
  codes,
  scales,
  block: [32, 32] as const,
};

for (const tokens of [1, 4, 16]) {
  const rows = randomBf16(random, tokens * IN);
  const group = `${tokens} tokens`;
  Deno.bench(`${OUT} × ${IN}, ${group}`, { group, baseline: true }, () => {
    project(weights, rows, tokens);
  });
  Deno.bench(`the plain loop, ${group}`, { group }, () => {
    const out = new Uint16Array(tokens * OUT);
    for (let t = 0; t < tokens; t++) {
      for (let n = 0; n < OUT; n++) {
        let sum = 0;
        for (let k = 0; k < IN; k++) {
          const scale = 2 ** (scales[(n >> 5) * (IN / 32) + (k >> 5)] - 127);
          sum += fp8Value(codes[n * IN + k]) * scale * fromBf16(rows[t * IN + k]);
        }
        out[t * OUT + n] = toBf16(sum);
      }
    }
  });
}
