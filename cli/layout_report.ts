import type { Checkpoint } from "../lib/checkpoint/checkpoint.ts";
import { rowEncoding } from "../lib/checkpoint/row_encoding.ts";
import type { Layout } from "../lib/layout/layout.ts";
import { rankSpans, type Split } from "../lib/layout/rank_spans.ts";
import { ranges } from "./ranges.ts";
import { table } from "./printer.ts";
import { bytes, count } from "./units.ts";

/** The layout as `--json` prints it. */
export type LayoutReport = ReturnType<typeof layoutReport>;

/** A checkpoint's layout, split over ranks. */
export function layoutReport(
  checkpoint: Checkpoint,
  layout: Layout,
  split: { tp: number; dp: number; split: Split },
) {
  const { config } = checkpoint;
  const warnings: string[] = [];
  const layers = layout.layers.map((layer, i) => {
    const found = checkpoint.layers.find(({ layerId }) => layerId === layer.layerId);
    const encoding = found?.encoding ?? rowEncoding("fp8", config.headDim);
    const stated = config.numEmbeddings?.[i];
    if (stated !== undefined && stated !== layer.rows) {
      warnings.push(
        `engram_num_embeddings of layer ${layer.layerId} is ${stated}, ` +
          `but its primes sum to ${layer.rows}: the rest would be padding`,
      );
    }
    return {
      layer_id: layer.layerId,
      rows: layer.rows,
      bytes: layer.rows * encoding.recordBytes,
      row_bytes: encoding.recordBytes,
      encoding: encoding.kind,
      primes: layer.primes,
      offsets: layer.offsets,
      multipliers: layer.multipliers.map(String),
      ranks: rankSpans(layer, split).map((span) => ({
        rank: span.rank,
        columns: span.columns,
        row_start: span.rowStart,
        row_end: span.rowEnd,
        rows: span.rows,
        bytes: span.rows * encoding.recordBytes,
        ranges: span.ranges,
      })),
    };
  });
  return {
    checkpoint: checkpoint.place,
    ...split,
    columns: layout.columns,
    max_ngram_size: layout.maxNgramSize,
    heads: layout.nHeads,
    head_dim: config.headDim,
    compressed_vocab_size: layout.compressedVocabSize,
    layers,
    warnings,
  };
}

/** The layout for people. */
export function layoutText(report: LayoutReport): string {
  const ranks = report.tp * report.dp;
  const way = ranks === 1 ? "" : `, split over ${ranks} ranks by ${WAYS[report.split]}`;
  const blocks = [
    `${report.columns} columns (n-grams 2 to ${report.max_ngram_size} × ${report.heads} heads), ` +
    `${report.head_dim} values a row, compressed vocabulary ${
      count(report.compressed_vocab_size)
    }${way}`,
  ];
  for (const layer of report.layers) {
    blocks.push([
      `layer ${layer.layer_id}: ${count(layer.rows)} rows of ${layer.row_bytes} bytes ` +
      `(${layer.encoding}), ${bytes(layer.bytes)}`,
      `multipliers ${layer.multipliers.join("  ")}`,
    ].join("\n"));
    blocks.push(table(
      ["column", "n-gram", "head", "prime", "first row"],
      layer.primes.flatMap((heads, n) =>
        heads.map((prime, head) => {
          const column = n * report.heads + head;
          return [column, n + 2, head, count(prime), count(layer.offsets[column])];
        })
      ),
    ));
    if (ranks === 1) continue;
    blocks.push(table(
      ["rank", "columns", "first row", "end row", "rows", "size"],
      layer.ranks.map((rank) => [
        rank.rank,
        ranges(rank.columns) || "none",
        count(rank.row_start),
        count(rank.row_end),
        count(rank.rows),
        bytes(rank.bytes),
      ]),
    ));
  }
  return blocks.join("\n\n");
}

const WAYS = { heads: "complete heads", strided: "columns dealt round", rows: "plain rows" };
