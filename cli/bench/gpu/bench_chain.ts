import { GateStream } from "../../../lib/gpu/gate_stream.ts";
import { uploadBatch } from "../../../lib/gpu/gpu_batch.ts";
import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { GpuTable } from "../../../lib/gpu/gpu_table.ts";
import { HashIds } from "../../../lib/gpu/hash_ids.ts";
import { Projection } from "../../../lib/gpu/projection.ts";
import { buildLayout } from "../../../lib/layout/build_layout.ts";
import { rowEncoding } from "../../../lib/table/row_encoding.ts";
import { randomWkv } from "./bench_projection.ts";
import { fillTable } from "./fill.ts";
import { randomBf16 } from "./random_bf16.ts";
import type { Report } from "./report.ts";
import { median, timeDispatches } from "./time_dispatches.ts";

/**
 * One token through hash, lookup, projection and gate of one layer: the GPU's time for the chain, the
 * sum of its kernels, and wall time: of chains submitted one after the other, and of one awaited.
 */
export async function benchChain({ gpu }: GpuKernels, report: Report, small: boolean) {
  const wkv = randomWkv(small);
  const hidden = wkv.outFeatures / 5;
  const headDim = wkv.inFeatures / 24;
  const layout = buildLayout({
    where: "one layer",
    layerIds: [1],
    maxNgramSize: 4,
    nHeads: 8,
    vocabSize: small ? 1000 : 1_000_000,
    compressedVocabSize: 99_092,
  });
  const encoding = rowEncoding("fp8", headDim);
  const table = await GpuTable.allocate(gpu, encoding, 0, layout.layers[0].rows);
  await fillTable(gpu, table);
  const hash = await HashIds.create(gpu, layout);
  const projection = await Projection.create(gpu, wkv);
  const gate = await GateStream.create(gpu, {
    hidden,
    copies: 4,
    q: randomBf16(4 * hidden),
    k: randomBf16(4 * hidden),
    eps: 1e-20,
  });
  const batch = await uploadBatch(gpu, {
    ids: Int32Array.of(4711),
    positions: Int32Array.of(9),
    starts: Int32Array.of(0, 1),
    window: Int32Array.of(1, 2, 3),
    windowDepth: 3,
  });
  const ids = await gpu.buffer(hash.bytesPerToken, "ids");
  const rows = await gpu.buffer(2 * wkv.inFeatures, "rows");
  const kv = await gpu.buffer(2 * wkv.outFeatures, "kv");
  const output = await gpu.buffer(2 * 4 * hidden, "output");
  const dispatches = [
    hash.dispatch(batch, 1, ids, 0, 1),
    ...table.lookup({
      ids,
      columns: 24,
      local: await gpu.upload(Uint32Array.from({ length: 24 }, (_, i) => i), "columns"),
      localCount: 24,
      all: true,
      tokens: 1,
      out: rows,
    }),
    ...projection.dispatches(rows, kv, 1),
    ...gate.dispatches({
      tokens: 1,
      stream: await gpu.upload(randomBf16(4 * hidden), "stream"),
      kv,
      gate: await gpu.buffer(16, "gates"),
      output,
    }),
  ];
  const size = "1 token";
  let sum = 0;
  for (const dispatch of dispatches) {
    const seconds = await timeDispatches(gpu, [[dispatch]], { quick: small });
    report.add({ name: `chain: ${dispatch.kernel.name}`, size, seconds });
    sum += median(seconds);
  }
  report.add({ name: "chain: sum of kernels", size, seconds: [sum] });
  report.add({
    name: "chain on the GPU",
    size,
    seconds: await timeDispatches(gpu, [dispatches], { quick: small }),
  });
  const wall = async (run: () => Promise<unknown>) => {
    const began = performance.now();
    await run();
    return (performance.now() - began) / 1e3;
  };
  const chains = small ? 10 : 500;
  const together: number[] = [];
  const alone: number[] = [];
  const nothing: number[] = [];
  const plan = await gpu.prepare(dispatches);
  const planned: number[] = [];
  for (let i = 0; i < 5; i++) {
    together.push(
      await wall(async () => {
        for (let j = 0; j < chains; j++) await gpu.submit(dispatches);
        await gpu.finish();
      }) / chains,
    );
    planned.push(
      await wall(async () => {
        for (let j = 0; j < chains; j++) await gpu.run(plan);
        await gpu.finish();
      }) / chains,
    );
    alone.push(await wall(() => gpu.submit(dispatches, [{ buffer: output, size: 8 * hidden }])));
    nothing.push(await wall(() => gpu.submit([], [{ buffer: output, size: 16 }])));
  }
  report.add({ name: `wall: each of ${chains} chains, encoded anew`, size, seconds: together });
  report.add({ name: `wall: each of ${chains} chains, prepared`, size, seconds: planned });
  report.add({ name: "wall: one chain, result read back", size, seconds: alone });
  report.add({ name: "wall: nothing but a read back", size, seconds: nothing });
  table.destroy();
  projection.destroy();
}
