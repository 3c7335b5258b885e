import type { ColumnStats, Tally } from "./column_stats.ts";
import type { ScanJob } from "./scan_job.ts";
import { columnDistances } from "./unlike_columns.ts";

/** One column of a table, or a whole smaller tensor, as it was found. */
export interface ColumnReport {
  /** The column; null for a tensor that is no table, and for padding rows. */
  readonly column: number | null;
  /** Its n-gram size. */
  readonly ngram: number | null;
  /** Its hash head. */
  readonly head: number | null;
  /** For people: `2-gram head 5`, `padding`. */
  readonly name: string;
  /** What was counted. */
  readonly stats: ColumnStats;
  /** Distance of its values' distribution from its neighbours'; null where not compared. */
  readonly valueDistance: number | null;
  /** Distance of its scales' distribution from its neighbours'. */
  readonly scaleDistance: number | null;
  /** Whether it stands out among its neighbours. */
  readonly unlike: boolean;
}

/** One tensor's content. */
export interface TensorReport {
  /** The job it was read by. */
  readonly job: ScanJob;
  /** Its columns, in order. */
  readonly columns: readonly ColumnReport[];
}

/** Puts names on what a scan counted. `heads` is null where no layout is known. */
export function contentReport(
  job: ScanJob,
  stats: ReadonlyMap<number, ColumnStats>,
  layout: { readonly nHeads: number; readonly columns: number } | null,
): TensorReport {
  const laidOut = layout !== null && job.part === "embed" &&
    job.columnStarts.length >= layout.columns && layout.columns > 1;
  const heads = laidOut ? layout.nHeads : 0;
  const count = laidOut ? layout.columns : 0;
  const distances = new Map(
    laidOut
      ? Array.from({ length: count / heads }, (_, n) =>
        columnDistances(
          new Map(
            [...stats].filter(([column]) => column < count && Math.floor(column / heads) === n),
          ),
        )).flat().map((distance) => [distance.column, distance])
      : [],
  );
  const columns = [...stats].sort(([a], [b]) => a - b).map(([column, stats]): ColumnReport => {
    const inTable = laidOut && column < count;
    const ngram = inTable ? Math.floor(column / heads) + 2 : null;
    const head = inTable ? column % heads : null;
    const distance = distances.get(column);
    return {
      column: inTable ? column : null,
      ngram,
      head,
      name: inTable ? `${ngram}-gram head ${head}` : column > 0 ? "padding" : "all rows",
      stats,
      valueDistance: distance?.values ?? null,
      scaleDistance: distance?.scales ?? null,
      unlike: distance?.unlike ?? false,
    };
  });
  return { job, columns };
}

/** A finding in words. */
export interface ContentFinding {
  /** The tensor. */
  readonly tensor: string;
  /** Where in the tensor, and what. */
  readonly message: string;
}

/** What engines read differently, or as no number: a checkpoint that holds any of it is at fault. */
export function contentFaults({ job, columns }: TensorReport): ContentFinding[] {
  const wide = job.kind !== "fp8" && job.kind !== "scale";
  return findings(job, columns, (stats) => [
    [stats.badRows, `row(s) hold ${wide ? "NaN or infinite values" : "NaN codes (0x7f or 0xff)"}`],
    [
      stats.badScales,
      job.scaleWidth === 4
        ? "scale(s) are NaN or infinite"
        : "scale byte(s) are 255, infinity to some engines and NaN to others",
    ],
    [
      stats.zeroScales,
      job.scaleWidth === 4
        ? "scale(s) are 0 over values that are not"
        : "scale byte(s) are 0 over values that are not, 0.0 to some engines and 2^-127 to others",
    ],
  ]);
}

/** What is only odd: rows that carry nothing, columns unlike their neighbours. */
export function contentOddities({ job, columns }: TensorReport): ContentFinding[] {
  const used = columns.filter(({ name }) => name !== "padding");
  const unlike = columns.filter((column) => column.unlike).map(({ name, ...column }) => ({
    tensor: job.tensor,
    message: `tensor ${JSON.stringify(job.tensor)}, ${name}: distributed unlike its neighbours ` +
      `(distance ${column.valueDistance?.toFixed(3)}, scales ${
        column.scaleDistance?.toFixed(3)
      }): ` +
      "was the table shifted or mixed up?",
  }));
  return [
    ...unlike,
    ...findings(job, used, (stats) => [
      [stats.zeroRows, "row(s) are all zero"],
      [stats.equalRows, "row(s) are one value throughout"],
    ]),
  ];
}

function findings(
  job: ScanJob,
  columns: readonly ColumnReport[],
  kinds: (stats: ColumnStats) => [Tally, string][],
): ContentFinding[] {
  return columns.flatMap(({ stats, name }) =>
    kinds(stats).filter(([{ count }]) => count > 0).map(([{ count, rows }, what]) => {
      const examples = rows.slice(0, 5).join(", ") + (rows.length > 5 ? ", …" : "");
      const place = columns.length > 1 ? `, ${name}` : "";
      return {
        tensor: job.tensor,
        message: `tensor ${JSON.stringify(job.tensor)}${place}: ${count} ${plural(what, count)} ` +
          `(row ${examples})`,
      };
    })
  );
}

function plural(text: string, count: number): string {
  if (count !== 1) return text.replaceAll("(s)", "s");
  return text.replaceAll("(s)", "").replace(/^row hold/, "row holds").replace(/ are /, " is ");
}
