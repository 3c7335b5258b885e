import type { Checkpoint, EngramLayer } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { rankSpans, type RankSplit } from "../layout/rank_spans.ts";
import { type FilePlan, planFile, type TensorSpec } from "../safetensors/plan_file.ts";
import type { SourceIdentity } from "../shards/source_identity.ts";
import type { OffloadManifest } from "./offload_manifest.ts";

/** One layer's packed file before it is written. */
export interface OffloadPlanLayer {
  /** The source. */
  readonly layer: EngramLayer;
  /** Rows [start, end) of the source's table, in order. */
  readonly ranges: readonly (readonly [number, number])[];
  /** File name. */
  readonly name: string;
  /** The one tensor: whole records. */
  readonly tensor: TensorSpec;
  /** The file's header and size. */
  readonly file: FilePlan;
}

/** A folder of packed rows before it is written. */
export interface OffloadPlan {
  /** The files, one a layer. */
  readonly layers: readonly OffloadPlanLayer[];
  /** What the manifest will say. */
  readonly manifest: OffloadManifest;
}

/** A split, and the one rank of it whose rows are wanted. */
export interface OffloadRank extends Required<RankSplit> {
  /** From 0 below tp * dp. */
  readonly rank: number;
}

/** llama.cpp-family files call records of the released size by this name. */
const KNOWN_RECORD = "e4m3_e8m0_32_row264";

/**
 * Plans the packed rows of a checkpoint: all rows of its tables, padding rows too, or one rank's.
 * Nothing is read but what is open already.
 */
export function planOffload(
  checkpoint: Checkpoint,
  layout: RowLayout,
  rank: OffloadRank | null,
  source: readonly SourceIdentity[],
): OffloadPlan {
  const layers = checkpoint.layers.map((layer): OffloadPlanLayer => {
    const ranges = rank === null ? wholeTable(layer) : ownRanges(layer, layout, rank);
    const { kind, recordBytes } = layer.encoding;
    const part = kind === "fp8" && recordBytes === 264 ? `embed.${KNOWN_RECORD}` : "embed.weight";
    const tensor: TensorSpec = {
      name: `layers.${layer.layerId}.engram.${part}`,
      dtype: "U8",
      shape: [ranges.reduce((sum, [start, end]) => sum + end - start, 0), recordBytes],
    };
    const name = `engram-layer-${String(layer.layerId).padStart(5, "0")}.safetensors`;
    return { layer, ranges, name, tensor, file: planFile([tensor]) };
  });
  const manifest: OffloadManifest = {
    format: 1,
    rank: rank && { tp: rank.tp, dp: rank.dp, split: rank.split, rank: rank.rank },
    layers: layers.map(({ layer, ranges, name, tensor, file }) => ({
      layer_id: layer.layerId,
      file: name,
      size: file.size,
      encoding: layer.encoding.kind,
      head_dim: layer.encoding.headDim,
      record_bytes: layer.encoding.recordBytes,
      rows: tensor.shape[0],
      row_ranges: ranges.map(([start, end]) => [start, end]),
    })),
    source: source.map(({ file, size, headerSha256 }) => ({
      file,
      size,
      header_sha256: headerSha256,
    })),
  };
  return { layers, manifest };
}

function wholeTable({ rows }: EngramLayer): [number, number][] {
  return rows === 0 ? [] : [[0, rows]];
}

function ownRanges(layer: EngramLayer, layout: RowLayout, { rank, ...split }: OffloadRank) {
  const own = layout.layers.find(({ layerId }) => layerId === layer.layerId);
  if (!own || layer.rows < own.rows) {
    throw new EngramError(
      "malformed",
      `Cannot split layer ${layer.layerId}: its table has ${layer.rows} rows, ` +
        `wanted ${own?.rows} (the sum of its primes)`,
    );
  }
  return rankSpans(own, split)[rank].ranges;
}
