import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import { type CheckpointFiles, openCheckpointFiles } from "../checkpoint/checkpoint_files.ts";
import { MAX_CONFIG_BYTES } from "../checkpoint/config_limits.ts";
import type { EngramConfig } from "../checkpoint/engram_config.ts";
import { engramTensors, type LayerTensors } from "../checkpoint/engram_tensors.ts";
import { findLayers, type LayerFault } from "../checkpoint/find_layers.ts";
import { layerOfParts } from "../checkpoint/layer_of_parts.ts";
import { locate } from "../checkpoint/locate.ts";
import { mentionsEngram, parseConfig } from "../checkpoint/parse_config.ts";
import { readJson } from "../checkpoint/read_json.ts";
import { EngramError } from "../errors.ts";
import { rowLayout } from "../layout/row_layout.ts";
import type { RowLayout } from "../layout/layout.ts";
import { layoutFaults } from "./layout_faults.ts";

/** All that headers and config say of a place, good or bad; nothing throws for being wrong. */
export interface Survey {
  /** The open files, with what is wrong between them and the index. */
  readonly files: CheckpointFiles;
  /** What the config says; null without one, without Engram layers in it, or where it is broken. */
  readonly config: EngramConfig | null;
  /** The parsed config; undefined without one. */
  readonly configJson: unknown;
  /** Why the config cannot be used. */
  readonly configError: EngramError | null;
  /** The Engram layers, from the config where there is one, else as the tensors' names tell. */
  readonly layers: readonly EngramLayer[];
  /** The tensors under each Engram layer's name. */
  readonly engram: ReadonlyMap<number, LayerTensors>;
  /** The layout the config implies. */
  readonly layout: RowLayout | null;
  /** Tensors against config. */
  readonly layerFaults: readonly LayerFault[];
  /** Config and tensors against the primes. */
  readonly layoutFaults: readonly LayerFault[];
  /** What is odd but harmless. */
  readonly warnings: readonly string[];
  /** Closes the files. */
  close(): void;
}

/**
 * Opens `location` and looks at all of it.
 *
 * @throws an {@linkcode EngramError} only where nothing can be said: a file that is not there or
 * is no safetensors file, an index that cannot be followed.
 */
export async function survey(location: string): Promise<Survey> {
  const files = await openCheckpointFiles(await locate(location));
  try {
    const read = await tryConfig(files);
    const engram = engramTensors(files.tensors.values());
    // A shard's tables are parts: neither the config nor the primes say how long they are.
    const found = read.config && !files.shards ? findLayers(files, read.config) : {
      layers: files.shards && !files.single ? [] : layersByName(engram),
      faults: [],
      warnings: [],
    };
    const layout = read.config && layoutOf(read.config);
    return {
      files,
      ...read,
      configError: read.configError ?? (layout instanceof EngramError ? layout : null),
      layers: found.layers,
      engram,
      layout: layout instanceof EngramError || files.shards ? null : layout,
      layerFaults: found.faults,
      layoutFaults: read.config && !files.shards && layout && !(layout instanceof EngramError)
        ? layoutFaults(read.config, layout, found.layers)
        : [],
      warnings: found.warnings,
      close: () => files.close(),
    };
  } catch (error) {
    files.close();
    throw error;
  }
}

async function tryConfig(
  { folder, configName }: CheckpointFiles,
): Promise<Pick<Survey, "config" | "configJson" | "configError">> {
  let configJson: unknown;
  if (configName === null) return { config: null, configJson, configError: null };
  try {
    configJson = await readJson(folder, configName, MAX_CONFIG_BYTES);
    const config = mentionsEngram(configJson)
      ? parseConfig(configJson, folder.path(configName))
      : null;
    return { config, configJson, configError: null };
  } catch (error) {
    if (!(error instanceof EngramError)) throw error;
    return { config: null, configJson, configError: error };
  }
}

function layoutOf(config: EngramConfig): RowLayout | EngramError {
  try {
    // Row counts are compared by layoutFaults, which names all that differ.
    return rowLayout({ ...config, numEmbeddings: null });
  } catch (error) {
    if (error instanceof EngramError) return error;
    throw error;
  }
}

function layersByName(engram: ReadonlyMap<number, LayerTensors>): EngramLayer[] {
  return [...engram.values()].map((tensors) => layerOfParts(tensors, null))
    .filter((layer) => typeof layer !== "string");
}
