import { join } from "node:path";
import { openFile } from "../../lib/bytes/file_source.ts";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { EngramError } from "../../lib/errors.ts";
import type { OpenedKernels } from "../../lib/gpu/open_kernels.ts";
import { packedRows } from "../../lib/offload/packed_rows.ts";
import { partStore } from "../../lib/table/part_store.ts";
import type { RowStore } from "../../lib/table/row_store.ts";
import type { StoredLayer } from "../../lib/table/table_parts.ts";
import { openRows, ROW_BACKENDS } from "../row_backends.ts";
import { tableFiles } from "./bench_table.ts";
import type { BenchRequest } from "./request.ts";

/** Where a table's rows can be read from, by their names on the command line. */
export const BENCH_BACKENDS = [...ROW_BACKENDS, "spread", "packed"] as const;

/** One of them. */
export type BenchBackend = (typeof BENCH_BACKENDS)[number];

/** An open row store of a benchmark; disposing closes it. */
export interface Backend extends Disposable {
  readonly store: RowStore;
  /** What it is, for people. */
  readonly label: string;
  /** Local files its rows are read from, for dropping their cached pages. */
  readonly paths: readonly string[];
}

/** Opens one backend of a layer's table; null, with a note, where it cannot be had here. */
export async function openBackend(
  name: BenchBackend,
  layer: StoredLayer,
  request: BenchRequest,
  opened: Pick<OpenedKernels, "keep" | "note">,
): Promise<Backend | null> {
  try {
    if (name === "packed") return await packed(layer, request);
    const { sampling: { signal } } = request;
    const progress = () => ({ advance() {}, stop() {} });
    // One reader: rates are those of one core, unless all are asked for.
    const [place, readers] = name === "spread"
      ? ["file" as const, navigator.hardwareConcurrency]
      : [name, 1];
    const store = await openRows(place, layer, { opened, readers, signal, progress });
    const paths = place === "file" || place === "mapped" ? tableFiles(layer) : [];
    return backend(
      store,
      paths,
      name === "spread" ? `${store.place}, ${readers} threads` : store.place,
    );
  } catch (error) {
    if (!(error instanceof EngramError) || !LEFT_OUT.has(error.kind)) throw error;
    request.note(`${name}: left out, ${error.message}`);
    return null;
  }
}

/** Kinds of error that say a backend cannot be had here. */
const LEFT_OUT: ReadonlySet<string> = new Set(["unavailable", "no_gpu"]);

/** Packed as `engram offload` does it. */
async function packed(layer: StoredLayer, { scratch }: BenchRequest): Promise<Backend> {
  const path = join(scratch, `packed-${layer.layerId}.bin`);
  const { encoding, rows } = layer;
  using output = OutputFile.create(path, { force: true, size: rows * encoding.recordBytes });
  for await (const piece of packedRows(layer, [[0, rows]])) output.write(piece);
  output.commit();
  const source = openFile(path);
  const parts = [{ source, offset: 0, bytes: encoding.recordBytes }];
  const close = () => source.close();
  return backend(partStore({ encoding, rows, place: "packed file", parts, close }), [path]);
}

function backend(store: RowStore, paths: readonly string[], label = store.place): Backend {
  return { store, paths, label, [Symbol.dispose]: () => store.close() };
}
