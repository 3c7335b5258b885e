import assert from "node:assert/strict";
import type { RelayInput } from "../../lib/engram/kernels.ts";
import { assertSameBits } from "./bf16_oracle.ts";
import type { Cases } from "./suite.ts";

/** The re-lay of gathered rows for sequence parallel. */
export const relayCases: Cases = async (kernels, step) => {
  for (const tp of [1, 2, 3, 4, 5, 8, 24, 33]) {
    await step(`${tp} ranks, 0 to 9 tokens`, async () => {
      for (const columns of [1, 6, 24]) {
        for (const headDim of [1, 7, 32]) {
          for (const tokens of [0, 1, 2, 3, 8, 9]) await check(tp, columns, headDim, tokens);
        }
      }
    });
  }

  await step("70,001 tokens for one rank of two", async () => await check(2, 3, 4, 70_001));

  async function check(tp: number, columns: number, headDim: number, tokens: number) {
    const localColumns = Math.ceil(columns / tp);
    const gathered = new Uint16Array(tp * tokens * localColumns * headDim);
    for (let i = 0; i < gathered.length; i++) gathered[i] = 1 + i % 65_535; // never zero
    for (let rank = 0; rank < tp; rank++) {
      const input = { tp, rank, tokens, localColumns, columns, headDim, gathered };
      const found = await kernels.relay(input);
      assert.equal(found.length, Math.ceil(tokens / tp) * columns * headDim);
      assertSameBits(found, oracle(input), `rank ${rank} of ${tp}, ${tokens} tokens`);
    }
  }
};

function oracle(input: RelayInput): Uint16Array {
  const { tp, rank, tokens, localColumns, columns, headDim, gathered } = input;
  const chunk = Math.ceil(tokens / tp);
  return Uint16Array.from({ length: chunk * columns * headDim }, (_, i) => {
    const value = i % headDim;
    const column = Math.floor(i / headDim) % columns;
    const token = rank * chunk + Math.floor(i / headDim / columns);
    if (token >= tokens) return 0;
    const owner = Math.floor(column / localColumns);
    const local = column % localColumns;
    return gathered[((owner * tokens + token) * localColumns + local) * headDim + value];
  });
}
