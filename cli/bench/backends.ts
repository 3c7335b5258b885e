import { EngramError } from "../../lib/errors.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import { partStore } from "../../lib/table/part_store.ts";
import type { RowStore } from "../../lib/table/row_store.ts";
import type { BenchTable } from "./bench_table.ts";
import type { BenchRequest } from "./request.ts";

/** An open row store of a benchmark; disposing closes it. */
export interface Backend extends AsyncDisposable {
  readonly store: RowStore;
}

/** Where a table's rows can be read from, by its name on the command line. */
const BACKENDS: Readonly<
  Record<string, (table: BenchTable, request: BenchRequest) => Promise<RowStore> | RowStore>
> = {
  file: ({ encoding, rows, parts }) => partStore({ encoding, rows, place: "file", parts }),
  memory: async ({ encoding, rows, parts }) => {
    const [codes, scales] = await Promise.all(parts.map(async ({ source, offset, bytes }) => {
      const whole = new Uint8Array(rows * bytes);
      await source.read(whole, offset);
      return whole;
    }));
    return memoryStore({ encoding, codes, ...(scales && { scales }) });
  },
};

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
    const store = await open(table, request);
    return {
      store,
      [Symbol.asyncDispose]: () => {
        store.close();
        return Promise.resolve();
      },
    };
  } catch (error) {
    if (!(error instanceof EngramError) || error.kind !== "unavailable") throw error;
    request.note(`${name}: left out, ${error.message}`);
    return null;
  }
}
