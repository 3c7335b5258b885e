import assert from "node:assert/strict";
import type { KernelTable } from "../../lib/engram/kernels.ts";
import { lookup } from "../../lib/engram/lookup.ts";
import { GpuTable } from "../../lib/gpu/gpu_table.ts";
import { requestDevice } from "../../lib/gpu/request_device.ts";
import { SortedLookup } from "../../lib/gpu/sorted_lookup.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { assertSameBits } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";
import { hasGpu } from "./open_gpu.ts";

const KINDS = [["fp8", 64], ["fp8", 24], ["fp8", 33], ["int8", 40], ["bf16", 3], ["f16", 5], [
  "f32",
  7,
]] as const;

if (await hasGpu()) {
  Deno.test("a table split over buffers and dispatches gives the rows of the whole one", async () => {
    const gpu = await requestDevice();
    const random = new Random(3);
    for (const [kind, headDim] of KINDS) {
      const table = randomTable(random, kind, headDim);
      const { input, wanted } = randomLookup(random, table);
      for (
        const split of [{ chunkRows: 7, chunksPerDispatch: 2 }, {
          chunkRows: 50,
          chunksPerDispatch: 3,
        }]
      ) {
        const held = await GpuTable.upload(gpu, table, split);
        assert.equal(held.chunks.length, Math.ceil(100 / split.chunkRows));
        const buffers = await lookupBuffers(gpu, input, headDim);
        // What is not written must show.
        gpu.write(buffers.out, 0, new Uint8Array(buffers.size).fill(0x5a));
        const [bytes] = await gpu.submit(held.lookup(buffers), [{
          buffer: buffers.out,
          size: buffers.size,
        }]);
        assertSameBits(new Uint16Array(bytes.buffer), wanted, `${kind} × ${headDim}`);
        held.destroy();
      }
    }
    gpu.close();
  });

  Deno.test("a sorted lookup gives the same rows, twice in a row, on any split and run", async () => {
    const gpu = await requestDevice();
    const random = new Random(4);
    for (const headDim of [8, 64, 256, 24]) {
      const table = randomTable(random, "fp8", headDim);
      const { input, wanted } = randomLookup(random, table);
      for (const [pageBytes, turns, chunkRows] of [[8, 1, 100], [1024, 4, 40], [2 ** 21, 2, 7]]) {
        const held = await GpuTable.upload(gpu, table, { chunkRows, chunksPerDispatch: 2 });
        const buffers = await lookupBuffers(gpu, input, headDim);
        const sorted = await SortedLookup.create(gpu, held, input.tokens * input.local.length, {
          pageBytes,
          turns,
        });
        for (const _ of [1, 2]) {
          gpu.write(buffers.out, 0, new Uint8Array(buffers.size).fill(0x5a));
          const [bytes] = await gpu.submit(sorted.lookup(buffers), [{
            buffer: buffers.out,
            size: buffers.size,
          }]);
          assertSameBits(new Uint16Array(bytes.buffer), wanted, `${headDim} wide, turns ${turns}`);
        }
        sorted.destroy();
        held.destroy();
      }
    }
    gpu.close();
  });
}

function randomTable(
  random: Random,
  kind: (typeof KINDS)[number][0],
  headDim: number,
): KernelTable {
  const encoding = rowEncoding(kind, headDim);
  const bytes = (length: number) => Uint8Array.from({ length }, () => random.below(256));
  return {
    encoding,
    codes: bytes(100 * encoding.codeBytes),
    scales: bytes(100 * encoding.scaleBytes),
    rowStart: 1000,
    rows: 100,
  };
}

function randomLookup(random: Random, table: KernelTable) {
  const tokens = 61, columns = 5;
  const input = {
    tokens,
    columns,
    ids: Int32Array.from(
      { length: tokens * columns },
      () => random.below(20) === 0 ? -1 : 990 + random.below(120),
    ),
    local: [4, 0, 3, 7],
  };
  return { input, wanted: lookup(table, input) };
}

async function lookupBuffers(
  gpu: Awaited<ReturnType<typeof requestDevice>>,
  { tokens, columns, ids, local }: ReturnType<typeof randomLookup>["input"],
  headDim: number,
) {
  const size = 2 * tokens * local.length * headDim;
  return {
    ids: await gpu.upload(ids, "ids"),
    columns,
    local: await gpu.upload(Uint32Array.from(local), "local"),
    localCount: local.length,
    all: false,
    tokens,
    out: await gpu.buffer(size, "out"),
    size,
  };
}
