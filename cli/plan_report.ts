import { SPLITS } from "../lib/layout/rank_spans.ts";
import type { Machines, Placement, TableSizes } from "../lib/plan/placements.ts";
import type { HitRate } from "../lib/plan/reuse_distances.ts";
import type { RowCounts } from "../lib/plan/row_traffic.ts";
import type { PlanTraffic } from "./plan_traffic.ts";
import { table } from "./printer.ts";
import { bytes, count } from "./units.ts";

/** What `engram plan` prints as JSON; sizes in bytes. */
export type PlanReport = ReturnType<typeof planReport>;

/** Puts a plan together. */
export function planReport(
  checkpoint: string,
  machines: Machines,
  { layers }: TableSizes,
  places: readonly Placement[],
  found: PlanTraffic | null,
) {
  // The largest record of any layer: a cache's slots are of one size.
  const recordBytes = Math.max(...layers.map((layer) => layer.recordBytes));
  const text = found && textReport(found, recordBytes);
  return {
    checkpoint,
    tp: machines.tp,
    dp: machines.dp,
    hosts: machines.hosts,
    split: machines.split,
    gpu_memory: machines.gpuMemory,
    ram: machines.ram,
    shm: machines.shm,
    batch_tokens: machines.batchTokens,
    layers: layers.map((layer) => ({
      layer_id: layer.layerId,
      rows: layer.rows,
      record_bytes: layer.recordBytes,
      table_bytes: layer.rows * layer.recordBytes,
      module_bytes: layer.moduleBytes,
    })),
    placements: places.map((place) => ({
      name: place.name,
      about: place.about,
      gpu_bytes: place.bytes.gpu,
      host_private_bytes: place.bytes.hostPrivate,
      host_shared_bytes: place.bytes.hostShared,
      disk_bytes: place.bytes.disk,
      fits: place.fits,
      lacks: place.lacks,
      cache_bytes: place.cacheBytes,
      hit_rate: text && place.bytes.disk > 0
        ? hitRateAt(text.hit_rates, place.cacheBytes * machines.hosts)
        : null,
      ranks: place.ranks.map(({ gpu, host }, rank) => ({
        rank,
        gpu_bytes: gpu,
        host_private_bytes: host,
      })),
    })),
    text,
  };
}

function textReport({ traffic, reuse }: PlanTraffic, recordBytes: number) {
  return {
    tokens: traffic.tokens,
    layers: traffic.layers.map(({ layerId, counts }) => ({
      layer_id: layerId,
      ...countsReport(counts),
    })),
    splits: SPLITS.map((split) => ({
      split,
      balance: balance(traffic.ranks[split]),
      ranks: traffic.ranks[split].map((counts, rank) => ({ rank, ...countsReport(counts) })),
    })),
    hit_rates: reuse.hitRates().map(({ rows, hitRate }) => ({
      rows,
      bytes: rows * recordBytes,
      hit_rate: hitRate,
    })),
    followed_share: reuse.share,
  };
}

function countsReport({ requests, reads, distinct }: RowCounts) {
  return { requests, reads, distinct_rows: distinct };
}

/** How many times its fair share the busiest rank reads; null where nothing is read. */
function balance(ranks: readonly RowCounts[]): number | null {
  const reads = ranks.map((rank) => rank.reads);
  const mean = reads.reduce((a, b) => a + b, 0) / reads.length;
  return mean === 0 ? null : Math.max(...reads) / mean;
}

/** The rate of the largest cache on the curve that `size` bytes hold. */
function hitRateAt(
  curve: readonly { bytes: number; hit_rate: HitRate["hitRate"] }[],
  size: number,
): number {
  return curve.findLast((point) => point.bytes <= size)?.hit_rate ?? 0;
}

/** A plan for people. */
export function planText(report: PlanReport): string {
  const blocks = [head(report), placementTable(report), ...lacking(report)];
  const { text } = report;
  if (text) {
    blocks.push(trafficHead(report), rankTable(report), curveTable(text));
  }
  return blocks.join("\n\n");
}

function head(report: PlanReport): string {
  const sum = (of: "table_bytes" | "module_bytes") =>
    report.layers.reduce((total, layer) => total + layer[of], 0);
  const ranks = report.tp * report.dp;
  const best = report.placements.find(({ fits }) => fits);
  return [
    `${report.layers.length} tables of ${
      bytes(sum("table_bytes"))
    } together, projection and gate ` +
    `${bytes(sum("module_bytes"))} a rank; ${ranks} ranks, hosts: ${report.hosts}`,
    `each GPU ${bytes(report.gpu_memory)}, each host ${bytes(report.ram)} ` +
    `(shared at most ${bytes(report.shm)}), batches of ${count(report.batch_tokens)} tokens`,
    best ? `the fastest that fits: ${best.name}, ${best.about}` : "nothing fits",
  ].join("\n");
}

function placementTable({ placements, text }: PlanReport): string {
  const size = (n: number) => n === 0 ? "–" : bytes(n);
  return table(
    [
      "placement",
      "a GPU",
      "host private",
      "host shared",
      "host disk",
      "row cache",
      ...(text ? ["hits"] : []),
      "fits",
    ],
    placements.map((place) => [
      place.name,
      size(place.gpu_bytes),
      size(place.host_private_bytes),
      size(place.host_shared_bytes),
      size(place.disk_bytes),
      size(place.cache_bytes),
      ...(text ? [place.hit_rate === null ? "–" : percent(place.hit_rate)] : []),
      place.fits ? "yes" : "no",
    ]),
  );
}

const OF = { gpu: "a GPU's memory", ram: "a host's memory", shm: "a host's shared memory" };

function lacking({ placements }: PlanReport): string[] {
  const lines = placements.flatMap(({ name, lacks }) =>
    lacks.map(({ of, wanted, found }) =>
      `${name}: needs ${bytes(wanted)} of ${OF[of]}, ${bytes(wanted - found)} more than there is`
    )
  );
  return lines.length === 0 ? [] : [lines.join("\n")];
}

function trafficHead({ text, batch_tokens }: PlanReport): string {
  const { tokens, layers } = text!;
  const sum = (of: "requests" | "reads" | "distinct_rows") =>
    layers.reduce((total, layer) => total + layer[of], 0);
  return `${count(tokens)} tokens ask for ${count(sum("requests"))} rows: ` +
    `${count(sum("reads"))} reads in batches of ${count(batch_tokens)}, ` +
    `${count(sum("distinct_rows"))} different rows`;
}

function rankTable({ text }: PlanReport): string {
  const { splits } = text!;
  const rows = splits[0].ranks.map((_, rank): (string | number)[] => [
    rank,
    ...splits.map(({ ranks }) => count(ranks[rank].reads)),
    ...splits.map(({ ranks }) => count(ranks[rank].distinct_rows)),
  ]);
  const most = splits.map(({ balance }) => balance === null ? "–" : balance.toFixed(2));
  rows.push(["busiest / mean", ...most, ...splits.map(() => "")]);
  return table(
    [
      "rank",
      ...splits.map(({ split }) => `reads, ${split}`),
      ...splits.map(({ split }) => `different, ${split}`),
    ],
    rows,
  );
}

function curveTable({ hit_rates, followed_share }: NonNullable<PlanReport["text"]>): string {
  // A line for each doubling is enough to read.
  const shown = hit_rates.filter(({ rows }, i) =>
    Number.isInteger(Math.log2(rows)) || i === hit_rates.length - 1
  );
  const how = followed_share === 1 ? "exact" : `from 1 of ${1 / followed_share} rows`;
  return [
    `hit rate of one row cache in front of all tables (least recently used, ${how})`,
    table(
      ["cache", "rows", "hits"],
      shown.map(({ bytes: size, rows, hit_rate }) => [
        bytes(size),
        count(rows),
        percent(hit_rate),
      ]),
    ),
  ].join("\n");
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
