import { join } from "node:path";
import { openFile } from "../../lib/bytes/file_source.ts";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { tableOf } from "../../lib/checkpoint/checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { packedRows } from "../../lib/offload/packed_rows.ts";
import { readTensor } from "../../lib/safetensors/read_tensor.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { mappedStore } from "../../lib/table/mapped_store.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import { partStore } from "../../lib/table/part_store.ts";
import type { RowStore } from "../../lib/table/row_store.ts";
import type { BenchTable } from "./bench_table.ts";
import type { BenchRequest } from "./request.ts";

/** An open row store of a benchmark; disposing closes it. */
export interface Backend extends Disposable {
  readonly store: RowStore;
  /** Local files it reads, for dropping their cached pages. */
  readonly paths: readonly string[];
}

type Open = (table: BenchTable, request: BenchRequest) => Promise<Backend> | Backend;

/** Where a table's rows can be read from, by its name on the command line. */
const BACKENDS: Readonly<Record<string, Open>> = {
  file: ({ table, paths }) => backend(fileStore(table), paths),
  mapped: ({ table, paths }) => backend(mappedStore(table), paths),
  async memory({ table }) {
    const { weight, scale } = tableOf(table);
    const codes = await readTensor(weight);
    const scales = scale && await readTensor(scale);
    return backend(memoryStore({ encoding: table.encoding, codes, ...(scales && { scales }) }), []);
  },
  async packed({ table }, { scratch }) {
    const path = join(scratch, "packed.bin");
    const { encoding, rows } = table;
    using output = OutputFile.create(path, { force: true, size: rows * encoding.recordBytes });
    for await (const piece of packedRows(table, [[0, rows]])) output.write(piece);
    output.commit();
    const source = openFile(path);
    const parts = [{ source, offset: 0, bytes: encoding.recordBytes }];
    const close = () => source.close();
    return backend(partStore({ encoding, rows, place: "packed file", parts, close }), [path]);
  },
};

function backend(store: RowStore, paths: readonly string[]): Backend {
  return { store, paths, [Symbol.dispose]: () => store.close() };
}

/** Opens one backend of `table`; null, with a note, where it cannot be had here. */
export async function openBackend(
  name: string,
  table: BenchTable,
  request: BenchRequest,
): Promise<Backend | null> {
  const open = BACKENDS[name];
  if (!open) {
    throw new EngramError(
      "usage",
      `Cannot read rows from "${name}": wanted one of ${Object.keys(BACKENDS).join(", ")}`,
      { where: "--backend" },
    );
  }
  try {
    return await open(table, request);
  } catch (error) {
    if (!(error instanceof EngramError) || error.kind !== "unavailable") throw error;
    request.note(`${name}: left out, ${error.message}`);
    return null;
  }
}
