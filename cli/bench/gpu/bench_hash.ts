import assert from "node:assert/strict";
import { uploadBatch } from "../../../lib/gpu/gpu_batch.ts";
import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { HashIds } from "../../../lib/gpu/hash_ids.ts";
import { NgramHasher } from "../../../lib/hash/ngram_hasher.ts";
import { buildLayout } from "../../../lib/layout/build_layout.ts";
import type { Report } from "./report.ts";
import { timeDispatches } from "./time_dispatches.ts";

/** Both layers of the released layout, 24 columns each. */
export async function benchHash({ gpu }: GpuKernels, report: Report, small: boolean) {
  const layout = buildLayout({
    where: "released",
    layerIds: [1, 14],
    maxNgramSize: 4,
    nHeads: 8,
    vocabSize: 16_000_000,
    compressedVocabSize: 99_092,
  });
  for (const tokens of small ? [1000] : [1, 8192, 65536]) {
    const batch = {
      ids: Int32Array.from({ length: tokens }, () => Math.floor(Math.random() * 99_092)),
      positions: Int32Array.from({ length: tokens }, (_, i) => i),
      starts: Int32Array.of(0, tokens),
      windowDepth: 0,
    };
    const wanted = new NgramHasher(layout, 1).hash(batch);
    using lease = gpu.lease();
    const uploaded = await uploadBatch(lease, batch);
    for (const general of [false, true]) {
      const hash = await HashIds.create(gpu, layout, general);
      const size = tokens * hash.bytesPerToken;
      const out = await gpu.buffer(size, "ids");
      const dispatch = hash.dispatch(uploaded, 1, out, 0, tokens);
      const seconds = await timeDispatches(gpu, [[dispatch]], { quick: small });
      gpu.write(out, 0, new Uint8Array(size).fill(0xee));
      const [bytes] = await gpu.submit([dispatch], [{ buffer: out, size }]);
      assert.deepEqual(new Int32Array(bytes.buffer), wanted);
      report.add({
        name: general ? "hash, any primes" : "hash",
        size: `${tokens} × 2 × 24`,
        seconds,
        counts: { amount: tokens, unit: "tokens" },
        checked: `${wanted.length} ids exact`,
      });
      out.destroy();
      hash.destroy();
    }
  }
}
