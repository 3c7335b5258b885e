import { join } from "node:path";
import { openFile } from "../bytes/file_source.ts";
import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import { engramTensors } from "../checkpoint/engram_tensors.ts";
import { layerOfParts } from "../checkpoint/layer_of_parts.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { rankSpans, type RankSplit } from "../layout/rank_spans.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";
import { readManifest, type ShardManifest } from "./shard_manifest.ts";
import { shardFiles } from "./shard_files.ts";
import { shardName } from "./shard_name.ts";

/** A folder of shards, opened to be read like the checkpoint they were cut from. */
export interface ShardSet {
  /** The folder. */
  readonly folder: string;
  /** Into how many ranks the tables are split, and how. */
  readonly split: Required<RankSplit>;
  /** tp * dp. */
  readonly ranks: number;
  /** The files they were cut from; `header_sha256` is of the header alone. */
  readonly source: readonly { file: string; size: number; header_sha256: string }[];
  /**
   * A layer as one rank holds it: its rows of the table, range after range, and the whole
   * projection and gate.
   *
   * @throws an {@linkcode EngramError} where the rank's shard or the layer in it is not there.
   */
  layer(rank: number, layerId: number): EngramLayer;
  /** Closes all files. */
  close(): void;
}

/**
 * Opens the shards in `folder` and checks that they are one set, cut as `layout` says. Only headers
 * are read. Ranks may be missing as long as they are not asked for.
 *
 * @param headDim Values in a row, as the config says.
 */
export async function openShards(
  folder: string,
  layout: RowLayout,
  headDim: number,
): Promise<ShardSet> {
  const { shards } = shardFiles(folder);
  const files = new Map<number, SafetensorsFile>();
  const close = () => files.forEach((file) => file.close());
  try {
    let first: ShardManifest | undefined;
    for (const { name, rank } of shards) {
      const file = await openSafetensors(openFile(join(folder, name)));
      files.set(rank, file);
      const manifest = checked(file, rank, layout);
      first ??= manifest;
      if (!sameSet(first, manifest)) {
        throw fault(file.source.name, `it is of another set than \`${shards[0].name}\``);
      }
    }
    const { tp, dp, split, source } = first!;
    return {
      folder,
      split: { tp, dp, split },
      ranks: tp * dp,
      source,
      layer: (rank, layerId) => layerOf(folder, files, rank, tp * dp, layerId, headDim),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** The shard's manifest, if it is that of its name's rank and of the layout's rows. */
function checked(file: SafetensorsFile, rank: number, layout: RowLayout): ShardManifest {
  const place = file.source.name;
  const manifest = readManifest(file.metadata);
  if (!manifest) throw fault(place, "it has no manifest of this version");
  const { tp, dp, split } = manifest;
  if (manifest.rank !== rank || shardName(rank, tp * dp) !== place.split(/[/\\]/).at(-1)) {
    throw fault(place, `it is rank ${manifest.rank} of ${tp * dp}, not what its name says`);
  }
  for (const layer of layout.layers) {
    const held = manifest.layers.find(({ layer_id }) => layer_id === layer.layerId);
    const { ranges } = rankSpans(layer, { tp, dp, split })[rank];
    if (JSON.stringify(held?.row_ranges) !== JSON.stringify(ranges)) {
      throw new EngramError(
        "mismatch",
        `Cannot use shard \`${place}\`: its rows of layer ${layer.layerId} are ` +
          `${JSON.stringify(held?.row_ranges ?? null)}, wanted ${JSON.stringify(ranges)}`,
        { where: place, hint: "It was cut from a checkpoint with another config" },
      );
    }
  }
  return manifest;
}

function sameSet(a: ShardManifest, b: ShardManifest): boolean {
  const identity = ({ tp, dp, split, source }: ShardManifest) =>
    JSON.stringify([tp, dp, split, source]);
  return identity(a) === identity(b);
}

function layerOf(
  folder: string,
  files: ReadonlyMap<number, SafetensorsFile>,
  rank: number,
  ranks: number,
  layerId: number,
  headDim: number,
): EngramLayer {
  const file = files.get(rank);
  if (!file) {
    throw new EngramError(
      "unavailable",
      `Cannot read rank ${rank} of the shards in \`${folder}\`: \`${shardName(rank, ranks)}\` ` +
        "is not there",
      { where: folder },
    );
  }
  const tensors = engramTensors(file.tensors.values()).get(layerId);
  const layer = layerOfParts(tensors ?? { layerId, parts: new Map() }, headDim);
  if (typeof layer === "string") throw fault(file.source.name, layer);
  return layer;
}

function fault(place: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot use shard \`${place}\`: ${found}`, {
    where: place,
    hint: "Compare the shards with their checkpoint: `engram verify CHECKPOINT --shards DIR`",
  });
}
