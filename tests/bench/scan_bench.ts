/** How fast the deep verification looks at rows, on one core, beside reading alone. */
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { openFile } from "../../lib/bytes/file_source.ts";
import type { ScanJob } from "../../lib/verify/scan_job.ts";
import { scanRows } from "../../lib/verify/scan_rows.ts";

const ROWS = 2 ** 20;
const CODES = ROWS * 256;

const folder = Deno.makeTempDirSync();
const path = join(folder, "table");
const block = new Uint8Array(2 ** 20);
for (let at = 0; at < block.length; at += 65_536) {
  crypto.getRandomValues(block.subarray(at, at + 65_536));
}
// Codes and scales of any value but those that are findings.
for (let at = 0; at < block.length; at++) {
  if ((block[at] & 0x7f) === 0x7f || block[at] === 0) block[at] = 1;
}
{
  using file = Deno.openSync(path, { write: true, create: true });
  for (let at = 0; at < ROWS * 264; at += block.length) file.writeSync(block);
}
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const place = (offset: number, bytes: number) => ({ path, offset, stride: bytes, at: 0, bytes });
const job: ScanJob = {
  layerId: 1,
  tensor: "table",
  part: "embed",
  kind: "fp8",
  rows: ROWS,
  codes: place(0, 256),
  scales: place(CODES, 8),
  scaleWidth: 1,
  groupBytes: 32,
  columnStarts: [0],
  // As the released table is sampled: 16 M rows a column.
  sample: 1024,
};

Deno.bench("read 277 MB from the page cache", { group: "scan", baseline: true }, () => {
  const file = openSync(path, "r");
  const buffer = new Uint8Array(2 ** 18);
  for (let at = 0; at < ROWS * 264; at += buffer.length) {
    readSync(file, buffer, 0, buffer.length, at);
  }
  closeSync(file);
});

Deno.bench("read 277 MB and look at every byte", { group: "scan" }, async () => {
  const source = openFile(path);
  await scanRows(job, 0, ROWS, () => source);
  source.close();
});
