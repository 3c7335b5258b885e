import { deepEqual } from "node:assert/strict";
import fc from "fast-check";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { streamTensor } from "../../lib/safetensors/read_tensor.ts";
import { rawFile } from "./raw_file.ts";

Deno.test("a stream's chunks begin at whole chunks of the file they go to, all but the first", async () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
  const header = { t: { dtype: "U8", shape: [100], data_offsets: [0, 100] } };
  const file = await openSafetensors(memorySource(rawFile(JSON.stringify(header), bytes)));
  const tensor = file.tensor("t");
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.nat({ max: 2 ** 40 }),
      fc.nat({ max: 100 }),
      fc.nat({ max: 100 }),
      async (chunkBytes, target, a, b) => {
        const [begin, end] = [Math.min(a, b), Math.max(a, b)];
        const got: number[] = [];
        for await (const chunk of streamTensor(tensor, { begin, end, chunkBytes, target })) {
          const to = target + got.length;
          deepEqual(got.length === 0 || to % chunkBytes === 0, true);
          got.push(...chunk);
          const whole = (target + got.length) % chunkBytes === 0;
          deepEqual(whole || begin + got.length === end, true);
        }
        deepEqual(got, [...bytes.subarray(begin, end)]);
      },
    ),
  );
  file.close();
});
