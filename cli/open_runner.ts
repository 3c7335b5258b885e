import type { EngramConfig } from "../lib/checkpoint/engram_config.ts";
import type { EngramRunner } from "../lib/engram/engram_runner.ts";
import { loadLayer } from "../lib/engram/load_layer.ts";
import { ParallelLayer } from "../lib/engram/parallel_layer.ts";
import { ParallelRunner } from "../lib/engram/parallel_runner.ts";
import { RankEmbedding } from "../lib/engram/rank_embedding.ts";
import { EngramError } from "../lib/errors.ts";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import { rankSpans } from "../lib/layout/rank_spans.ts";
import type { LayerTables } from "./layer_tables.ts";
import type { TokenInput } from "./token_input.ts";

/** The module ready to run: whole, or by the ranks that `tables` are split over. */
export async function openRunner(
  tables: LayerTables,
  opened: OpenedKernels,
  { layout, padId }: Pick<TokenInput, "layout" | "padId">,
  config: EngramConfig,
  sequence: boolean,
): Promise<EngramRunner> {
  const { choice, layers } = tables;
  if (layers.length < layout.layers.length) {
    throw new EngramError(
      "unavailable",
      `Cannot evaluate: ${layers.length} of the model's ${layout.layers.length} Engram layers ` +
        "are in what was opened",
      { hint: "Give the folder with all of the model's files" },
    );
  }
  if (!choice) {
    const loaded = [];
    for (const layer of layers) {
      tables.layout(layer.layerId);
      loaded.push(await loadLayer(layer, config, tables.rankRows(layer.layerId, 0).store));
    }
    return await opened.runner(layout, padId, loaded);
  }
  if (sequence && (choice.split ?? "heads") !== "heads") {
    throw new EngramError(
      "usage",
      `Cannot run sequence parallel with columns split by ${choice.split}: wanted heads`,
      { hint: "Rows gathered along tokens are re-laid by complete heads" },
    );
  }
  const { kernels } = opened;
  const parallel: ParallelLayer[] = [];
  for (const layer of layers) {
    const { layerId } = layer;
    const embeddings = rankSpans(tables.layout(layerId)!, choice).map((span) =>
      new RankEmbedding(kernels, span, tables.rankRows(layerId, span.rank))
    );
    const { projection, gate } = await loadLayer(layer, config, tables.rankRows(layerId, 0).store);
    parallel.push(new ParallelLayer(kernels, embeddings, layout.columns, { projection, gate }));
  }
  return new ParallelRunner(kernels, layout, padId, parallel, { sequence, place: tables.place });
}
