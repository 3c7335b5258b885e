import { isSyncSource } from "../lib/bytes/byte_source.ts";
import { EngramError } from "../lib/errors.ts";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import { fileStore } from "../lib/table/file_store.ts";
import { mappedStore } from "../lib/table/mapped_store.ts";
import { loadTable } from "../lib/table/memory_store.ts";
import type { RowStore } from "../lib/table/row_store.ts";
import { spreadStore } from "../lib/table/spread_store.ts";
import { type StoredLayer, tableParts } from "../lib/table/table_parts.ts";
import type { Context } from "./command.ts";

/** What opening a table may need. */
export interface RowBackendOptions extends Pick<Context, "signal" | "progress"> {
  /** Threads that read rows of local files. */
  readonly readers: number;
  /** The device that kernels run on. */
  readonly opened: Pick<OpenedKernels, "keep" | "note">;
}

type Open = (layer: StoredLayer, options: RowBackendOptions) => Promise<RowStore> | RowStore;

/** Where a table's rows can be read from, by its name on the command line. */
const OPENERS = {
  /** A whole copy in the GPU's memory. */
  async gpu(layer, { opened: { keep, note }, signal, progress }) {
    if (!keep) {
      throw new EngramError("no_gpu", `Cannot keep tables on the GPU: kernels run on ${note}`, {
        hint: "Run `engram doctor` to see what is missing, or use `--backend file`",
      });
    }
    const bar = progress("Loading", layer.rows, "rows");
    try {
      return await keep(layer, { signal, loaded: (rows) => bar.advance(rows) });
    } finally {
      bar.stop();
    }
  },
  /** A whole copy in host memory. */
  async memory(layer, { signal, progress }) {
    const bar = progress("Loading", layer.rows * layer.encoding.recordBytes, "bytes");
    try {
      return await loadTable(layer, { signal, loaded: (bytes) => bar.advance(bytes) });
    } finally {
      bar.stop();
    }
  },
  mapped(layer) {
    if (isLocal(layer)) return mappedStore(layer);
    const [{ source: { name } }] = tableParts(layer);
    throw new EngramError("unavailable", `Cannot map \`${name}\`: it is no local file`, {
      where: name,
      hint: "Use `--backend file`: it fetches the rows that are needed",
    });
  },
  /** Only the rows asked for, by position. */
  file: (layer, { readers }) => fromFile(layer, readers),
} as const satisfies Record<string, Open>;

/** A place where a table's rows can be read. */
export type RowBackend = keyof typeof OPENERS;

/** Their names. */
export const ROW_BACKENDS = Object.keys(OPENERS) as RowBackend[];

/**
 * Opens a layer's rows in the place asked for.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where they cannot be had there, and
 * `no_gpu` where there is no GPU to keep them on.
 */
export async function openRows(
  backend: RowBackend,
  layer: StoredLayer,
  options: RowBackendOptions,
): Promise<RowStore> {
  return await OPENERS[backend](layer, options);
}

/** Whether a layer's table lies in files of this machine. */
export function isLocal(layer: StoredLayer): boolean {
  return tableParts(layer).every(({ source }) => isSyncSource(source));
}

/** Rows by position: of local files by several threads, where many are asked for. */
function fromFile(layer: StoredLayer, readers: number): RowStore {
  return readers > 1 && isLocal(layer)
    ? spreadStore(layer, { workers: readers })
    : fileStore(layer);
}
