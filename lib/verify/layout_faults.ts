import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import { MAX_ROWS } from "../checkpoint/config_limits.ts";
import type { EngramConfig } from "../checkpoint/engram_config.ts";
import type { LayerFault } from "../checkpoint/find_layers.ts";
import type { RowLayout } from "../layout/layout.ts";

/**
 * Where the config's row counts or the tables are not those of the primes: of kind `malformed`
 * where some rows would be missing, of kind `mismatch` where there are only more.
 */
export function layoutFaults(
  config: EngramConfig,
  layout: RowLayout,
  layers: readonly EngramLayer[],
): LayerFault[] {
  return layout.layers.flatMap(({ layerId, rows }, i): LayerFault[] => {
    const faults: LayerFault[] = [];
    const stated = config.numEmbeddings?.[i];
    if (stated !== undefined && stated !== rows) {
      faults.push({
        // Some engines count padding rows too: odd, but such a table can be used.
        kind: stated > rows ? "mismatch" : "malformed",
        tensor: `layers.${layerId}.engram.embed.weight`,
        file: config.where,
        missing: false,
        message: `engram_num_embeddings of layer ${layerId} is ${stated}, ` +
          `but its ${layout.columns} primes sum to ${rows}`,
      });
    }
    if (rows > MAX_ROWS) {
      faults.push({
        kind: "malformed",
        tensor: `layers.${layerId}.engram.embed.weight`,
        file: config.where,
        missing: false,
        message: `layer ${layerId}'s primes sum to ${rows} rows, ` +
          `wanted at most ${MAX_ROWS}: rows are numbered by int32`,
      });
    }
    const weight = layers.find((layer) => layer.layerId === layerId)?.embed?.weight;
    // A table shorter than the config says is named by the check against the config.
    if (weight && weight.shape[0] < rows && weight.shape[0] >= (stated ?? 0)) {
      faults.push({
        kind: "malformed",
        tensor: weight.name,
        file: weight.source.name,
        missing: false,
        message: `tensor ${JSON.stringify(weight.name)} has ${weight.shape[0]} rows, ` +
          `wanted ${rows} or more (the sum of layer ${layerId}'s primes)`,
      });
    }
    return faults;
  });
}
