import assert from "node:assert/strict";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { engramName } from "../../lib/checkpoint/engram_tensors.ts";
import { tableShape } from "../../lib/checkpoint/table_shape.ts";
import type { Dtype } from "../../lib/safetensors/dtype.ts";
import type { Tensor } from "../../lib/safetensors/tensor.ts";
import { bytesOfRows } from "../../lib/verify/scan_job.ts";
import { scanJobs } from "../../lib/verify/scan_jobs.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { rejects } from "./rejects.ts";

const source = memorySource(new Uint8Array(0));
const tensor = (dtype: Dtype, ...shape: number[]): Tensor => ({
  name: "layers.1.engram.embed.weight",
  dtype,
  shape,
  offset: 8,
  byteLength: shape.reduce((a, b) => a * b, 1),
  source,
});

/** Where 32-bit and double arithmetic end, and their neighbours. */
const EDGES = [31, 32, 44].flatMap((bits) => [2 ** bits - 1, 2 ** bits, 2 ** bits + 1]);

Deno.test("tables of any number of rows are described exactly", () => {
  for (const rows of EDGES) {
    const weight = tensor("F8_E4M3", rows, 256);
    const scale = tensor("U8", rows, 8);
    const shape = tableShape(weight, scale, 256);
    assert.ok(typeof shape !== "string", `${shape}`);
    assert.equal(shape.rows, rows);
    assert.match(
      `${tableShape(weight, tensor("U8", rows - 1, 8), 256)}`,
      new RegExp(`\\[${rows - 1}, 8\\], wanted shape \\[${rows}, 8\\]`),
    );
    const layer = {
      layerId: 1,
      ...shape,
      embed: { weight, scale },
      wkv: null,
      qWeight: null,
      kWeight: null,
    };
    const [job] = scanJobs([layer], null);
    assert.equal(job.rows, rows);
    assert.equal(BigInt(bytesOfRows(job, 0, rows)), BigInt(rows) * 264n);
    assert.equal(bytesOfRows(job, rows - 1, rows), 264);
  }
});

Deno.test("rows of any width: packed records are told from codes by their arithmetic", () => {
  for (let dim = 1; dim <= 600; dim++) {
    const width = dim + Math.ceil(dim / 32);
    const packed = tableShape(tensor("U8", 3, width), null, null);
    assert.ok(typeof packed !== "string", `${packed}`);
    assert.deepEqual([packed.packed, packed.encoding.headDim], [true, dim]);
    assert.match(`${tableShape(tensor("U8", 3, width), null, dim + 1)}`, /wanted packed records/);
  }
  for (const width of [2 ** 31, 2 ** 32 + 1, 2 ** 40]) {
    const wide = tableShape(tensor("BF16", 1, width), null, null);
    assert.ok(typeof wide !== "string");
    assert.equal(wide.encoding.recordBytes, width * 2);
  }
  assert.match(`${tableShape(tensor("U8", 3, 33 * 4 + 1), null, null)}`, /wanted packed records/);
  assert.match(`${tableShape(tensor("BF16", 3, 0), null, null)}`, /at least one value/);
});

Deno.test("layer numbers in names", () => {
  for (const id of [0, 7, 2 ** 31 - 1, 2 ** 31, 2 ** 32]) {
    assert.deepEqual(engramName(`layers.${id}.engram.q_weight`), { layerId: id, part: "q_weight" });
  }
  for (const id of ["01", "-1", "1.0", "", "x", "99999999999", "9007199254740993"]) {
    assert.equal(engramName(`layers.${id}.engram.q_weight`), null, id);
  }
  assert.deepEqual(engramName("model.layers.3.engram.conv.weight"), { layerId: 3, part: null });
  assert.equal(engramName("layers.3.engrams.q_weight"), null);
  assert.equal(engramName("players.3.engram.q_weight"), null);
});

Deno.test("a layout's sums are exact or refused past 2^53", async () => {
  const config = (vocabSize: number, nHeads: number) => ({
    where: "c",
    layerIds: [1],
    maxNgramSize: 2,
    nHeads,
    vocabSize,
    compressedVocabSize: 100,
  });
  for (const bound of [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 2 ** 48]) {
    const [layer] = buildLayout(config(bound, 8)).layers;
    const primes = layer.primes.flat();
    assert.ok(primes.every((prime) => prime >= bound));
    let start = 0n;
    primes.forEach((prime, column) => {
      assert.equal(BigInt(layer.offsets[column]), start);
      start += BigInt(prime);
    });
    assert.equal(BigInt(layer.rows), start);
  }
  await rejects(() => buildLayout(config(2 ** 48, 33)), "malformed", "the sum of layer 1's primes");
});
