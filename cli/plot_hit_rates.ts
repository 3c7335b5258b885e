import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { OutputFile } from "../lib/bytes/output_file.ts";
import type { PlanReport } from "./plan_report.ts";
import { count } from "./units.ts";

/** Draws a plan's hit rates by cache size as SVG. */
export async function writeHitRates(
  path: string,
  report: PlanReport,
  force: boolean,
): Promise<void> {
  using output = OutputFile.create(path, { force });
  const view = new View(parse(compile(hitRatesSpec(report)).spec), { renderer: "none" });
  try {
    output.write(new TextEncoder().encode(await view.toSVG()));
  } finally {
    view.finalize();
  }
  output.commit();
}

const UNITS = `
  datum.value >= 1099511627776 ? datum.value / 1099511627776 + ' TiB'
  : datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB'
  : datum.value >= 1048576 ? datum.value / 1048576 + ' MiB'
  : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'`;

function hitRatesSpec({ text }: PlanReport): TopLevelSpec {
  const { hit_rates, tokens } = text!;
  const values = hit_rates.filter((point) => point.bytes >= 1024);
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: {
      text: "Hit rate by size of the row cache",
      subtitle: `${count(tokens)} tokens; one cache for all tables, least recently used goes first`,
    },
    width: 560,
    height: 320,
    background: "white",
    data: { values: values.length > 0 ? values : [...hit_rates] },
    mark: { type: "line", point: { size: 12 } },
    encoding: {
      x: {
        field: "bytes",
        type: "quantitative",
        title: "cache",
        scale: { type: "log", base: 2 },
        axis: { labelExpr: UNITS, tickCount: 10, labelOverlap: true },
      },
      y: {
        field: "hit_rate",
        type: "quantitative",
        title: "requests answered by the cache",
        scale: { domain: [0, 1] },
        axis: { format: ".0%" },
      },
    },
  };
}
