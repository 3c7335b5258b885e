import assert from "node:assert/strict";
import { join } from "node:path";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { bytesOfRows } from "../../lib/verify/scan_job.ts";
import { scanJobs } from "../../lib/verify/scan_jobs.ts";
import { scanRows } from "../../lib/verify/scan_rows.ts";
import { survey } from "../../lib/verify/survey.ts";
import { inFolder } from "../bytes/in_folder.ts";
import {
  SMALL_CONFIG,
  smallTensors,
  weightMap,
  writeCheckpoint,
  writeIndex,
} from "../checkpoint/small_checkpoint.ts";
import { rawFile } from "../safetensors/raw_file.ts";

Deno.test("an index of half a million tensors opens", async () => {
  await inFolder(async (folder) => {
    const many = Array.from({ length: 500_000 }, (_, i) => ({
      name: `model.layers.${i % 61}.mlp.experts.${i}.down_proj.weight`,
      dtype: "U8",
      shape: [0],
    }));
    const files = { "a.safetensors": many, "b.safetensors": smallTensors() };
    writeCheckpoint(folder, { files, index: true });
    const checkpoint = await openCheckpoint(folder);
    assert.equal(checkpoint.tensors.size, 500_012);
    assert.deepEqual(checkpoint.warnings, []);
    checkpoint.close();
  });
});

Deno.test("an index of many files that are not there is told in a bounded message", async () => {
  await inFolder(async (folder) => {
    const files = { "model.safetensors": smallTensors() };
    writeCheckpoint(folder, { files });
    const gone = Array.from({ length: 5_000 }, (_, i) => [`t${i}`, `gone-${i}.safetensors`]);
    writeIndex(folder, { ...weightMap(files), ...Object.fromEntries(gone) });
    const found = await survey(folder);
    assert.equal(found.files.problems.length, 5_000);
    found.close();
  });
});

/** A checkpoint whose table's codes are a hole in the file: gigabytes by name, kilobytes on disk. */
function sparseTable(folder: string, rows: number): { path: string; data: number } {
  const config = {
    ...SMALL_CONFIG,
    engram_layer_ids: [1],
    engram_num_embeddings: null,
    engram_head_dim: 256,
  };
  const shapes: [string, string, number[], number][] = [
    ["embed.weight", "F8_E4M3", [rows, 256], rows * 256],
    ["embed.scale", "U8", [rows, 8], rows * 8],
    ["wkv.weight", "BF16", [96, 1024], 96 * 2048],
    ["q_weight", "BF16", [2, 32], 128],
    ["k_weight", "BF16", [2, 32], 128],
  ];
  let end = 0;
  const header = Object.fromEntries(shapes.map(([name, dtype, shape, size]) => {
    const data_offsets = [end, end += size];
    return [`layers.1.engram.${name}`, { dtype, shape, data_offsets }];
  }));
  const start = rawFile(JSON.stringify(header));
  const path = join(writeCheckpoint(folder, { config }), "model.safetensors");
  Deno.writeFileSync(path, start);
  Deno.truncateSync(path, start.length + end);
  return { path, data: start.length };
}

Deno.test("rows past 2^32 bytes are opened, read and named by their numbers", async () => {
  const rows = 2 ** 25;
  const row = 2 ** 24 + 3;
  await inFolder(async (folder) => {
    const { path, data } = sparseTable(folder, rows);
    const file = Deno.openSync(path, { write: true });
    file.seekSync(data + row * 256 + 5, Deno.SeekMode.Start);
    file.writeSync(Uint8Array.of(0x7f));
    file.seekSync(data + rows * 256 + row * 8, Deno.SeekMode.Start);
    file.writeSync(new Uint8Array(8).fill(120));
    file.close();
    const found = await survey(folder);
    try {
      assert.deepEqual(found.layerFaults, []);
      const [layer] = found.layers;
      assert.equal(layer.rows, rows);
      assert.ok(layer.embed!.scale!.offset > 2 ** 33);
      const [job] = scanJobs(found.layers, found.layout);
      assert.equal(bytesOfRows(job, 0, rows), rows * 264);
      const [{ source }] = found.files.files.values();
      const stats = await scanRows(job, row - 1000, row + 1000, () => source);
      const [[, column]] = stats;
      assert.deepEqual(column.badRows, { count: 1, rows: [row] });
      assert.equal(column.zeroRows.count, 1999);
      assert.deepEqual(column.zeroScales, { count: 0, rows: [] });
    } finally {
      found.close();
    }
  });
});

Deno.test("tables of 2^31 rows open; what a table can hold ends where rows are numbered no more", async () => {
  for (const rows of [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 33]) {
    await inFolder(async (folder) => {
      sparseTable(folder, rows);
      const checkpoint = await openCheckpoint(folder);
      assert.equal(checkpoint.layers[0].rows, rows);
      checkpoint.close();
    });
  }
});
