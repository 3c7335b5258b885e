import type { ScanJob } from "../lib/verify/scan_job.ts";
import type { ColumnReport, TensorReport } from "../lib/verify/content_report.ts";
import { table } from "./printer.ts";
import { count } from "./units.ts";

/** What a deep verification counted, as `--json` prints it. */
export function contentJson(tensors: readonly TensorReport[]) {
  return tensors.map(({ job, columns }) => ({
    layer_id: job.layerId,
    tensor: job.tensor,
    kind: job.kind,
    rows: job.rows,
    columns: columns.map(({ stats, ...column }) => ({
      column: column.column,
      ngram: column.ngram,
      head: column.head,
      name: column.name,
      rows: stats.rows,
      bad_rows: stats.badRows,
      zero_scales: stats.zeroScales,
      idle_scales: stats.idleScales,
      bad_scales: stats.badScales,
      zero_rows: stats.zeroRows,
      equal_rows: stats.equalRows,
      value_distance: column.valueDistance,
      scale_distance: column.scaleDistance,
      unlike: column.unlike,
      sampled_rows: stats.sampledRows,
      value_histogram: stats.values,
      scale_histogram: stats.scales,
    })),
  }));
}

/** The same for people: the tables column by column, then the smaller tensors. */
export function contentText(tensors: readonly TensorReport[]): string {
  const tables = tensors.filter(({ job }) => job.part === "embed").map((report) =>
    `layer ${report.job.layerId}, ${report.job.tensor}\n${columnsText(report)}`
  );
  const others = tensors.filter(({ job }) => job.part !== "embed");
  if (others.length > 0) {
    tables.push(table(
      ["tensor", "rows", "NaN rows", "scale 0", "scale 255", "magnitudes"],
      others.flatMap(({ job, columns }) =>
        columns.map(({ stats }) => [
          job.tensor,
          count(stats.rows),
          mark(stats.badRows.count),
          mark(stats.zeroScales.count),
          mark(stats.badScales.count),
          magnitudes(job, stats.values, stats.scales),
        ])
      ),
    ));
  }
  return tables.join("\n\n");
}

function columnsText({ job, columns }: TensorReport): string {
  const scaled = job.scales !== null;
  return table(
    [
      ...["column", "rows", "NaN rows"],
      ...(scaled ? ["scale 0", "scale 255"] : []),
      ...["zero rows", "equal rows", "unlike others", "magnitudes", ...(scaled ? ["scales"] : [])],
    ],
    columns.map((column) => {
      const { stats, name } = column;
      const scales = [mark(stats.zeroScales.count), mark(stats.badScales.count)];
      return [
        column.column === null ? name : `${column.column} (${name})`,
        count(stats.rows),
        mark(stats.badRows.count),
        ...(scaled ? scales : []),
        mark(stats.zeroRows.count),
        mark(stats.equalRows.count),
        distance(column),
        magnitudes(job, stats.values, null),
        ...(scaled ? [bars(span(stats.scales))] : []),
      ];
    }),
  );
}

function distance({ valueDistance, scaleDistance, unlike }: ColumnReport): string {
  if (valueDistance === null || scaleDistance === null) return "–";
  const text = Math.max(valueDistance, scaleDistance).toFixed(3);
  return unlike ? `${text} !` : text;
}

/** Nothing found is a dash, so that what was found stands out. */
function mark(found: number): string {
  return found === 0 ? "–" : count(found);
}

/** A histogram of magnitudes, small to large, as bars. */
function magnitudes(job: ScanJob, values: readonly number[], scales: readonly number[] | null) {
  if (job.kind === "scale") return bars(span(scales ?? []));
  if (job.kind === "fp8") return bars(folded(values, (code) => (code & 0x7f) >> 3));
  if (job.kind === "int8") {
    return bars(folded(values, (code) => Math.min(15, Math.abs(code << 24 >> 24) >> 3)));
  }
  return bars(span(values));
}

/** Sixteen bins of a histogram of 256. */
function folded(histogram: readonly number[], bin: (value: number) => number): number[] {
  const bins = new Array<number>(16).fill(0);
  histogram.forEach((n, value) => bins[bin(value)] += n);
  return bins;
}

/** At most sixteen bins over the part of a histogram that is not empty. */
function span(histogram: readonly number[]): number[] {
  const first = histogram.findIndex((n) => n > 0);
  const last = histogram.findLastIndex((n) => n > 0);
  if (first < 0) return [];
  const width = Math.ceil((last - first + 1) / 16);
  const bins = new Array<number>(Math.ceil((last - first + 1) / width)).fill(0);
  for (let i = first; i <= last; i++) bins[Math.floor((i - first) / width)] += histogram[i];
  return bins;
}

function bars(bins: readonly number[]): string {
  const most = Math.max(...bins, 1);
  // Anything at all shows as the lowest bar.
  return bins.map((n) => n === 0 ? " " : "▁▂▃▄▅▆▇█"[Math.ceil(n / most * 8) - 1]).join("");
}
