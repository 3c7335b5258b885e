import assert from "node:assert/strict";
import { EngramError } from "../../lib/errors.ts";
import { requestDevice } from "../../lib/gpu/request_device.ts";
import { ResidentStore } from "../../lib/gpu/resident_store.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { CpuKernels } from "../../lib/engram/cpu_kernels.ts";
import { lookUpRows } from "../../lib/engram/look_up_rows.ts";
import { assertSameBits } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";
import { storedLayer } from "../table/stored_layer.ts";
import { assertSame } from "./assert_same.ts";
import { hasGpu } from "./open_gpu.ts";

const ignore = !(await hasGpu());

const ROWS = 300;

function randomLayer(random: Random, kind: Parameters<typeof rowEncoding>[0], headDim: number) {
  const encoding = rowEncoding(kind, headDim);
  const codes = random.bytes(ROWS * encoding.codeBytes);
  const scales = random.bytes(ROWS * encoding.scaleBytes);
  return storedLayer(encoding, codes, scales);
}

Deno.test({
  name:
    "a table on the GPU: rows decoded there, and records as they are, of every encoding and split",
  ignore,
  async fn() {
    const gpu = await requestDevice();
    const cpu = new CpuKernels();
    const random = new Random(6);
    const pages = [undefined, { bytes: 1024, cached: 0 }];
    for (
      const [kind, headDim] of [["fp8", 64], ["fp8", 40], ["fp8", 33], ["int8", 40], ["bf16", 3], [
        "f16",
        5,
      ], ["f32", 7]] as const
    ) {
      const layer = randomLayer(random, kind, headDim);
      const source = fileStore(layer);
      for (const split of [undefined, { chunkRows: 37, chunksPerDispatch: 3 }]) {
        for (const page of pages) {
          let loaded = 0;
          const store = await ResidentStore.load(gpu, layer, {
            loaded: (rows) => loaded += rows,
            ...(split && { split }),
            ...(page && { pages: page }),
          });
          assert.equal(loaded, ROWS);
          for (const count of [0, 1, 700]) {
            const ids = Float64Array.from({ length: count }, () => random.below(ROWS));
            const what = `${count} rows of ${kind} × ${headDim}`;
            assertSameBits(
              await lookUpRows(cpu, store, ids),
              await lookUpRows(cpu, source, ids),
              what,
            );
            const { recordBytes } = source.encoding;
            const [found, wanted] = [store, source].map(() => new Uint8Array(count * recordBytes));
            await store.readRecords(ids, found);
            await source.readRecords(ids, wanted);
            assertSame(found, wanted, what);
          }
          store.close();
        }
      }
    }
    gpu.close();
  },
});

Deno.test({
  name: "a table on the GPU refuses bad ids and wrong room; loading it can be interrupted",
  ignore,
  async fn() {
    const gpu = await requestDevice();
    const layer = randomLayer(new Random(1), "fp8", 8);
    const store = await ResidentStore.load(gpu, layer);
    for (const bad of [-1, ROWS, 2 ** 32 + 1, 0.5, NaN]) {
      await assert.rejects(
        store.decodeRows(Float64Array.of(3, bad), new Uint16Array(16)),
        /row number 1 is .*, wanted an integer from 0 to 299/,
      );
    }
    await assert.rejects(
      store.decodeRows(Int32Array.of(3), new Uint16Array(7)),
      /read 1 rows: found room for 7 values, wanted 8/,
    );
    await assert.rejects(
      ResidentStore.load(gpu, layer, { signal: AbortSignal.abort() }),
      (error) => error instanceof EngramError && error.kind === "interrupted",
    );
    store.close();
    gpu.close();
  },
});
