import assert from "node:assert/strict";
import { SeededHidden } from "../../lib/engram/seeded_hidden.ts";
import { bf16Number } from "../kernels/bf16_oracle.ts";
import { seededHidden } from "./seeded_hidden_oracle.ts";

Deno.test("the made-up stream is the documented formula, past element 2^32 as well", async () => {
  const [copies, hidden] = [4, 5120];
  for (const seed of [0, 1, 2 ** 32 - 1]) {
    const source = new SeededHidden(seed, copies, hidden);
    // The last of these begins before element 2^32 and ends behind it.
    for (const first of [0, 7, 209_715]) {
      const found = await source.read(14, first, 1);
      const wanted = seededHidden(seed, 14, first * copies * hidden, copies * hidden);
      assert.ok(wanted.every((bits, i) => bits === found[i]), `seed ${seed}, token ${first}`);
    }
  }
});

Deno.test("the made-up stream does not depend on how it is cut, and is even over [-1, 1]", async () => {
  const source = new SeededHidden(5, 3, 7);
  const whole = await source.read(1, 0, 500);
  const parts = [await source.read(1, 0, 123), await source.read(1, 123, 377)];
  assert.deepEqual(whole, Uint16Array.of(...parts[0], ...parts[1]));
  assert.notDeepEqual(await source.read(2, 0, 500), whole, "layers differ");
  const values = Array.from(whole, bf16Number);
  assert.ok(values.every((value) => value >= -1 && value <= 1));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const square = values.reduce((sum, value) => sum + value ** 2, 0) / values.length;
  // 10,500 values: standard errors 0.006 and 0.003.
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(square - 1 / 3) < 0.015, `${mean} ${square}`);
});
