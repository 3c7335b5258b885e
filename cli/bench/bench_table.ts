import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { type StoredLayer, tableParts } from "../../lib/table/table_parts.ts";
import { benchCheckpoint } from "./bench_checkpoint.ts";
import type { BenchRequest } from "./request.ts";

/** One layer's table to look rows up in: the first of the checkpoint measured on. */
export interface BenchTable extends Disposable {
  /** Layout with this layer alone. */
  readonly layout: Layout;
  /** Where the table lies. */
  readonly table: StoredLayer;
  /** Local files it lies in, for dropping their cached pages. */
  readonly paths: readonly string[];
}

/** Opens the first layer's table of the checkpoint asked for, or of a synthetic one. */
export async function benchTable(request: BenchRequest): Promise<BenchTable> {
  const checkpoint = await openCheckpoint(benchCheckpoint(request));
  const [table] = checkpoint.layers;
  const layout = buildLayout(checkpoint.config);
  const layer = layout.layers.find(({ layerId }) => layerId === table.layerId)!;
  return {
    layout: { ...layout, layers: [layer] },
    table,
    paths: tableFiles(table),
    [Symbol.dispose]: () => checkpoint.close(),
  };
}

/** The files that a layer's table lies in. */
export function tableFiles(layer: StoredLayer): readonly string[] {
  return [...new Set(tableParts(layer).map(({ source }) => source.name))];
}
