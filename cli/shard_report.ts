import type { RowLayout } from "../lib/layout/layout.ts";
import type { Split } from "../lib/layout/rank_spans.ts";
import type { ShardPlan } from "../lib/shards/shard_plan.ts";
import type { WrittenShard } from "../lib/shards/write_shards.ts";
import { table } from "./printer.ts";
import { ranges } from "./ranges.ts";
import { bytes, count } from "./units.ts";

/** What `engram shard` was asked for. */
export interface ShardSettings {
  readonly tp: number;
  readonly dp: number;
  readonly split: Split;
  readonly out: string;
}

/** What `engram shard` prints as JSON; sizes in bytes. */
export interface ShardReport {
  readonly out: string;
  readonly tp: number;
  readonly dp: number;
  readonly split: Split;
  readonly dry_run: boolean;
  readonly bytes: number;
  readonly shards: readonly {
    readonly rank: number;
    readonly file: string;
    readonly bytes: number;
    readonly state: "planned" | "written" | "verified";
    readonly layers: readonly {
      readonly layer_id: number;
      readonly columns: readonly number[];
      readonly rows: number;
      readonly row_ranges: readonly (readonly [number, number])[];
    }[];
  }[];
}

/** The report of a run; `written` is null for a dry one. */
export function shardReport(
  layout: RowLayout,
  settings: ShardSettings,
  plans: readonly ShardPlan[],
  written: readonly WrittenShard[] | null,
): ShardReport {
  return {
    ...settings,
    dry_run: written === null,
    bytes: plans.reduce((sum, plan) => sum + plan.file.size, 0),
    shards: plans.map((plan, i) => ({
      rank: plan.rank,
      file: plan.name,
      bytes: plan.file.size,
      state: written?.[i].state ?? "planned",
      layers: plan.spans.map((span, layer) => ({
        layer_id: layout.layers[layer].layerId,
        columns: span.columns,
        rows: span.rows,
        row_ranges: span.ranges,
      })),
    })),
  };
}

/** The report for people. */
export function shardText(report: ShardReport): string {
  const { tp, dp, split, out, shards } = report;
  const rows = shards.map((shard) => [
    shard.rank,
    ranges(shard.layers[0].columns) || "none",
    shard.layers.map((layer) => count(layer.rows)).join(" + "),
    bytes(shard.bytes),
    shard.state,
    shard.file,
  ]);
  const over = dp === 1 ? `tp ${tp}` : `tp ${tp} × dp ${dp}`;
  return [
    table(["rank", "columns", "rows", "size", "state", "file"], rows),
    "",
    `${bytes(report.bytes)} in ${out}, split by ${split} over ${over}` +
    (report.dry_run ? "; nothing was written (--dry-run)" : ""),
  ].join("\n");
}
