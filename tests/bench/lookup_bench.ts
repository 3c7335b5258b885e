/**
 * Rows read from a file by position, beside reading them one by one in the order asked for. A text's
 * rows repeat, so half of the ids asked for here are among a hundredth of the rows.
 */
import { openFile } from "../../lib/bytes/file_source.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import { partStore } from "../../lib/table/part_store.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { Random } from "../kernels/random.ts";

const ROWS = 200_000;
const ASKED = 65_536;

const encoding = rowEncoding("fp8", 256);
const { codeBytes, scaleBytes, recordBytes } = encoding;
const random = new Random(1);
const ids = Int32Array.from({ length: ASKED }, () => random.below(random.below(2) ? ROWS : 2000));
const bytes = new Uint8Array(ROWS * recordBytes).map((_, i) => i * 31);
const path = Deno.makeTempFileSync();
Deno.writeFileSync(path, bytes);
globalThis.addEventListener("unload", () => Deno.removeSync(path));
const source = openFile(path);
const out = new Uint8Array(ASKED * recordBytes);

const codes = { source, offset: 0, bytes: codeBytes };
const scales = { source, offset: ROWS * codeBytes, bytes: scaleBytes };
const whole = { source, offset: 0, bytes: recordBytes };
const stores = {
  "codes and scales of a file": partStore({
    encoding,
    rows: ROWS,
    place: "file",
    parts: [codes, scales],
  }),
  "packed records of a file": partStore({ encoding, rows: ROWS, place: "file", parts: [whole] }),
  "host memory": memoryStore({ encoding, codes: bytes }),
};

for (const [name, store] of Object.entries(stores)) {
  Deno.bench(`${ASKED} rows, ${name}`, { group: "lookup" }, async () => {
    await store.readRecords(ids, out);
  });
}

Deno.bench(`${ASKED} rows, one by one`, { group: "lookup", baseline: true }, () => {
  ids.forEach((id, i) => {
    const at = i * recordBytes;
    source.readSync(out.subarray(at, at + codeBytes), id * codeBytes);
    source.readSync(
      out.subarray(at + codeBytes, at + recordBytes),
      ROWS * codeBytes + id * scaleBytes,
    );
  });
});
