import { tableOf } from "../../lib/checkpoint/checkpoint.ts";
import { rankSpans } from "../../lib/layout/rank_spans.ts";
import type { Survey } from "../../lib/verify/survey.ts";
import type { InspectReport } from "../inspect_report.ts";
import { bytes } from "../units.ts";
import { type Html, markup } from "./html.ts";
import { columnMap, fileMap, rankMap } from "./layout_plots.ts";
import { page } from "./page.ts";
import { htmlTable } from "./table.ts";

/** Numbers of ranks drawn. */
const TPS = [2, 4, 8, 16];

/** The number of ranks whose bytes are listed. */
const LISTED_TP = 4;

/** Tensors listed; a model's others are summed up. */
const MOST_TENSORS = 2000;

/** The page of `engram inspect`: layers, columns, ranks, and where the bytes lie. */
export async function layoutPage(survey: Survey, report: InspectReport): Promise<string> {
  return page({
    title: "Engram layout",
    subtitle: `${report.path}: ${report.tensor_count.toLocaleString("en-US")} tensors, ${
      bytes(report.tensor_bytes)
    } in ${report.files.length} files`,
    body: markup`${oddities(report)}${layersSection(report)}${await layoutSection(
      survey,
    )}${await filesSection(
      survey,
      report,
    )}`,
  });
}

function oddities({ oddities }: InspectReport): Html | null {
  if (oddities.length === 0) return null;
  return markup`
    <section aria-labelledby="odd-title">
      <h2 id="odd-title">What is odd</h2>
      <ul>${oddities.map((text) => markup`<li>${text}</li>`)}</ul>
    </section>
  `;
}

function layersSection({ config, engram_layers }: InspectReport): Html {
  const settings = Object.entries(config ?? {}).map(([key, value]) => [
    markup`<code>${key}</code>`,
    value === null
      ? "not stated"
      : Array.isArray(value)
      ? value.join(", ") || "none"
      : String(value),
  ]);
  return markup`<section aria-labelledby="layers-title"><h2 id="layers-title">Layers</h2>
${
    htmlTable(
      "Engram layers",
      ["layer", "rows", "encoding", "bytes a row", "table", "first prime", "last prime"],
      engram_layers.map((layer) => [
        `${layer.layer_id}`,
        layer.rows,
        `${layer.encoding}${layer.packed ? ", packed" : ""}`,
        layer.row_bytes,
        bytes(layer.table_bytes),
        layer.first_prime ?? "–",
        layer.last_prime ?? "–",
      ]),
    )
  }
${config === null ? null : htmlTable("Config", ["key", "value"], settings)}</section>`;
}

async function layoutSection({ layout, layers }: Survey): Promise<Html | null> {
  if (!layout || layout.layers.length === 0) return null;
  return markup`<section aria-labelledby="columns-title"><h2 id="columns-title">Columns and ranks</h2>
${await columnMap(layout)}
${await rankMap(layout, TPS)}
${
    layout.layers.map((layer) => {
      const found = layers.find(({ layerId }) => layerId === layer.layerId);
      const weight = found?.embed ? tableOf(found).weight : null;
      const rowBytes = weight && found ? weight.byteLength / found.rows : 0;
      return htmlTable(
        `Layer ${layer.layerId} over ${LISTED_TP} ranks by complete heads`,
        [
          "rank",
          "columns",
          "first row",
          "rows",
          ...(weight ? ["bytes of the file, from", "to"] : []),
        ],
        rankSpans(layer, { tp: LISTED_TP }).map(({ rank, columns, rowStart, rowEnd, rows }) => [
          rank,
          columns.length === 0 ? "none" : `${columns[0]}–${columns[columns.length - 1]}`,
          rowStart,
          rows,
          ...(weight
            ? [weight.offset + rowStart * rowBytes, weight.offset + rowEnd * rowBytes]
            : []),
        ]),
      );
    })
  }</section>`;
}

async function filesSection({ files }: Survey, report: InspectReport): Promise<Html | null> {
  if (files.files.size === 0) return null;
  const { engram_tensors } = report;
  const listed = engram_tensors.slice(0, MOST_TENSORS);
  return markup`<section aria-labelledby="files-title"><h2 id="files-title">Files</h2>
${await fileMap(files.files)}
${
    htmlTable(
      listed.length < engram_tensors.length
        ? `The first ${MOST_TENSORS} of ${engram_tensors.length} Engram tensors`
        : "Engram tensors",
      ["tensor", "dtype", "shape", "file", "from byte", "bytes"],
      listed.map(({ name, dtype, shape, file, offset, bytes }) => [
        markup`<code>${name}</code>`,
        dtype,
        `[${shape.join(", ")}]`,
        file,
        offset,
        bytes,
      ]),
    )
  }
${
    htmlTable(
      "Files",
      ["file", "bytes", "header", "tensors", "Engram tensors"],
      report.files.map((file) => [
        file.name,
        file.bytes,
        file.header_bytes,
        file.tensors,
        file.engram_tensors,
      ]),
    )
  }</section>`;
}
