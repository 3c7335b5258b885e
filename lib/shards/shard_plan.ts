import { type Checkpoint, type EngramLayer, moduleOf, tableOf } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { type RankSpan, rankSpans, type RankSplit } from "../layout/rank_spans.ts";
import { type FilePlan, planFile, type TensorSpec } from "../safetensors/plan_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { MANIFEST_KEY, type ShardManifest } from "./shard_manifest.ts";
import { shardName } from "./shard_name.ts";
import type { SourceIdentity } from "./source_identity.ts";

/** A piece of a source tensor: bytes [begin, end) of it. */
export interface Piece {
  /** The source. */
  readonly tensor: Tensor;
  /** First byte. */
  readonly begin: number;
  /** Byte after the last. */
  readonly end: number;
}

/** A tensor of a shard: pieces of the checkpoint's tensor of the same name, one after another. */
export interface ShardTensor extends TensorSpec {
  /** Whether it is a table, cut by rows; else a whole copy. */
  readonly isTable: boolean;
  /** Where its bytes come from, in order. */
  readonly pieces: readonly Piece[];
}

/** One rank's file before it is written. */
export interface ShardPlan {
  /** The shard's number, of tp * dp. */
  readonly rank: number;
  /** File name. */
  readonly name: string;
  /** What it holds of each layer, in the layout's order. */
  readonly spans: readonly RankSpan[];
  /** Its tensors. */
  readonly tensors: readonly ShardTensor[];
  /** Its `__metadata__`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Its bytes: header and where each tensor goes. */
  readonly file: FilePlan;
}

/**
 * Plans every rank's shard of a checkpoint: the rank's rows of each layer's table (codes and scales),
 * and the whole projection and gate. Rows past the primes' sum (padding) go to no rank.
 * Nothing is read but what is open already.
 */
export function planShards(
  checkpoint: Checkpoint,
  layout: RowLayout,
  split: RankSplit,
  source: readonly SourceIdentity[],
): ShardPlan[] {
  const layers = layout.layers.map((layerLayout) => {
    const layer = checkpoint.layer(layerLayout.layerId);
    if (layer.rows >= layerLayout.rows) return { layer, spans: rankSpans(layerLayout, split) };
    throw new EngramError(
      "malformed",
      `Cannot shard layer ${layer.layerId}: its table has ${layer.rows} rows, ` +
        `wanted ${layerLayout.rows} (the sum of its primes)`,
      { where: tableOf(layer).weight.source.name },
    );
  });
  const { tp, dp = 1, split: way = "heads" } = split;
  const ranks = tp * dp;
  return Array.from({ length: ranks }, (_, rank) => {
    const held = layers.map(({ layer, spans }) => ({ layer, span: spans[rank] }));
    const tensors = held.flatMap(({ layer, span }) => tensorsOf(layer, span));
    const manifest: ShardManifest = {
      format: 1,
      split: way,
      tp,
      dp,
      rank,
      layers: held.map(({ layer, span }, i) => ({
        layer_id: layer.layerId,
        columns: [...span.columns],
        row_ranges: span.ranges.map(([start, end]) => [start, end]),
        rows: span.rows,
        table_rows: layout.layers[i].rows,
      })),
      source: source.map(({ file, size, headerSha256 }) => ({
        file,
        size,
        header_sha256: headerSha256,
      })),
    };
    const spans = held.map(({ span }) => span);
    const metadata = { format: "pt", [MANIFEST_KEY]: JSON.stringify(manifest) };
    const file = planFile(tensors, metadata);
    return { rank, name: shardName(rank, ranks), spans, tensors, metadata, file };
  });
}

function tensorsOf(layer: EngramLayer, span: RankSpan): ShardTensor[] {
  const { weight, scale } = tableOf(layer);
  const { wkv, qWeight, kWeight } = moduleOf(layer);
  const tables = [weight, scale].filter((tensor) => tensor !== null);
  const whole = [wkv.weight, wkv.scale, qWeight, kWeight].filter((tensor) => tensor !== null);
  return [
    ...tables.map((tensor): ShardTensor => {
      const rowBytes = layer.rows === 0 ? 0 : tensor.byteLength / layer.rows;
      return {
        name: tensor.name,
        dtype: tensor.dtype,
        shape: [span.rows, ...tensor.shape.slice(1)],
        isTable: true,
        pieces: span.ranges.map(([start, end]) => ({
          tensor,
          begin: start * rowBytes,
          end: end * rowBytes,
        })),
      };
    }),
    ...whole.map((tensor): ShardTensor => ({
      name: tensor.name,
      dtype: tensor.dtype,
      shape: tensor.shape,
      isTable: false,
      pieces: [{ tensor, begin: 0, end: tensor.byteLength }],
    })),
  ];
}
