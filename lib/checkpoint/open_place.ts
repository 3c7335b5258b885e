import { EngramError } from "../errors.ts";
import type { Checkpoint } from "./checkpoint.ts";
import {
  type CheckpointFiles,
  openCheckpointFiles,
  problemError,
  problemLines,
} from "./checkpoint_files.ts";
import { MAX_CONFIG_BYTES } from "./config_limits.ts";
import type { EngramConfig } from "./engram_config.ts";
import { faultError, findLayers } from "./find_layers.ts";
import { parseConfig } from "./parse_config.ts";
import type { Place } from "./place.ts";
import { readJson } from "./read_json.ts";

/** Disagreements that leave the Engram tensors usable: said, not refused. */
const HARMLESS = ["missing_file", "unlisted_file", "total_size"];

/**
 * Opens the checkpoint of a place that was looked at before: on disk, behind a URL, or picked in a
 * browser. Errors are those of `openCheckpoint`.
 */
export async function openPlace(place: Place): Promise<Checkpoint> {
  const files = await openCheckpointFiles(place, place.folder.distant ? "engram" : "all");
  try {
    if (files.shards) throw shardsError(files);
    return assemble(files, await readConfig(files));
  } catch (error) {
    files.close();
    throw error;
  }
}

async function readConfig(files: CheckpointFiles): Promise<EngramConfig> {
  const { folder, configName } = files;
  if (configName === null) {
    throw new EngramError(
      "unavailable",
      `Cannot open checkpoint \`${files.place}\`: found no config.json in \`${folder.name}\``,
      {
        where: folder.name,
        hint: "Put the model's config.json beside the tensors; `engram inspect` works without one",
      },
    );
  }
  return parseConfig(await readJson(folder, configName, MAX_CONFIG_BYTES), folder.path(configName));
}

/** Shards are a table's parts: rows stand at other places in them than in the table. */
function shardsError({ place, single }: CheckpointFiles): EngramError {
  return new EngramError(
    "usage",
    `Cannot open \`${place}\` as a checkpoint: found ${
      single ? "a rank's shard" : "shards of ranks"
    }`,
    {
      where: place,
      hint: "Give the checkpoint they were made from, and their folder with --shards",
    },
  );
}

function assemble(files: CheckpointFiles, config: EngramConfig): Checkpoint {
  const problem = files.problems.find(({ kind }) => !HARMLESS.includes(kind));
  if (problem) throw problemError(files, problem);
  const { layers, faults, warnings } = findLayers(files, config);
  if (faults.length > 0) throw faultError(files, faults);
  return {
    place: files.place,
    config,
    source: files,
    files: files.files,
    tensors: files.tensors,
    layers,
    tokenizerPath: files.tokenizerPath,
    warnings: [...problemLines(files.problems), ...warnings],
    layer(id) {
      const layer = layers.find(({ layerId }) => layerId === id);
      if (layer) return layer;
      throw new EngramError(
        "usage",
        `Cannot find Engram layer ${id} in \`${files.place}\`: ` +
          `it has ${layers.map(({ layerId }) => layerId).join(", ")}`,
      );
    },
    close: () => files.close(),
  };
}
