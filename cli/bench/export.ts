import { count, seconds } from "../units.ts";
import { table } from "../printer.ts";
import type { BenchRecord, BenchResult } from "./record.ts";
import { baselineOf, ceilingOf, speedup, summarize } from "./summary.ts";

/** The formats a record can be written in. */
export const FORMATS = ["table", "json", "csv", "markdown"] as const;

const HEAD = [
  "case",
  "time",
  "±",
  "GPU",
  "tokens/s",
  "rows/s",
  "bytes/s",
  "of ceiling",
  "vs baseline",
];

/** A record as text in one of {@linkcode FORMATS}, newline at the end. */
export function exportRecord(record: BenchRecord, format: typeof FORMATS[number]): string {
  switch (format) {
    case "json":
      return JSON.stringify(record) + "\n";
    case "csv":
      return csv(record);
    case "markdown": {
      const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
      const rule = line(HEAD.map((_, i) => i === 0 ? "---" : "---:"));
      const rows = record.results.map((result) => line(cellsOf(result, record.results)));
      return [line(HEAD), rule, ...rows, "", ...notes(record)].join("\n") + "\n";
    }
    case "table": {
      const rows = record.results.map((result) => cellsOf(result, record.results));
      return [table(HEAD, rows), "", ...notes(record)].join("\n") + "\n";
    }
  }
}

function cellsOf(result: BenchResult, all: readonly BenchResult[]): string[] {
  const own = summarize(result);
  const ceiling = ceilingOf(result, all);
  const baseline = baselineOf(result, all);
  const share = ceiling && own.bytesPerSecond !== null
    ? own.bytesPerSecond / summarize(ceiling).bytesPerSecond!
    : null;
  return [
    labelOf(result),
    own.median === null ? "–" : seconds(own.median),
    `${(own.spread * 100).toFixed(0)}%`,
    own.gpuMedian === null ? "–" : seconds(own.gpuMedian),
    rate(own.tokensPerSecond),
    rate(own.rowsPerSecond),
    rate(own.bytesPerSecond),
    share === null ? "–" : `${(share * 100).toFixed(0)}%`,
    baseline ? `${speedup(result, baseline).toFixed(2)}×` : "–",
  ];
}

function labelOf(result: BenchResult): string {
  const { of: _of, adapter: _adapter, ...shown } = result.parameters;
  const parameters = Object.entries(shown).map(([key, value]) => `${key} ${value}`).join(", ");
  const role = result.role === "case" ? "" : ` (${result.role})`;
  return `${result.name}: ${result.variant}${role}${parameters ? `, ${parameters}` : ""}`;
}

function notes(record: BenchRecord): string[] {
  const { machine } = record;
  const distinct = (items: readonly string[]) => [...new Set(items)];
  const gpu = machine.adapter ? `, ${machine.adapter}` : "";
  return [
    `${machine.cpu}, ${machine.cores} cores${gpu}, Deno ${machine.deno}. Medians; ± is the median absolute deviation.`,
    ...distinct(
      record.results.map((r) => `${r.name}: counted ${r.counted}; not in the time: ${r.excluded}.`),
    ),
    ...distinct(record.results.flatMap((r) => r.warnings.map((text) => `warning: ${text}`))),
  ];
}

/** A rate in decimal units (G = 10^9), as memory and network rates are quoted. */
function rate(perSecond: number | null): string {
  if (perSecond === null) return "–";
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]] as const) {
    if (perSecond >= size) return `${(perSecond / size).toPrecision(3)} ${unit}`;
  }
  return count(Math.round(perSecond));
}

function csv(record: BenchRecord): string {
  const quote = (cell: string) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  const head =
    "name,variant,role,parameters,tokens,rows,distinct_rows,bytes,sample,seconds,gpu_seconds";
  const lines = record.results.flatMap((result) => {
    const { tokens, rows, distinctRows, bytes } = result.work;
    const parameters = Object.entries(result.parameters).map(([k, v]) => `${k}=${v}`).join(";");
    const fixed = [
      result.name,
      result.variant,
      result.role,
      parameters,
      tokens,
      rows,
      distinctRows,
      bytes,
    ];
    const samples = Math.max(result.samples.length, result.gpuSamples?.length ?? 0);
    return Array.from(
      { length: samples },
      (_, i) =>
        [...fixed, i, result.samples[i] ?? null, result.gpuSamples?.[i] ?? null]
          .map((cell) => quote(cell === null ? "" : String(cell))).join(","),
    );
  });
  return [head, ...lines].join("\n") + "\n";
}
