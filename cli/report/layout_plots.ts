import { engramName } from "../../lib/checkpoint/engram_tensors.ts";
import type { RowLayout } from "../../lib/layout/layout.ts";
import { rankSpans } from "../../lib/layout/rank_spans.ts";
import type { SafetensorsFile } from "../../lib/safetensors/safetensors_file.ts";
import type { Html } from "./html.ts";
import { plot } from "./plot.ts";

const WIDTH = 760;

/** A stretch of a file. */
interface Stretch {
  readonly file: string;
  readonly begin: number;
  readonly end: number;
  readonly what: string;
}

/** What stands where in each file; neighbours of a kind are drawn as one. */
export function fileMap(files: ReadonlyMap<string, SafetensorsFile>): Promise<Html> {
  const values: Stretch[] = [...files].flatMap(([name, file]) => stretches(name, file));
  return plot("What the files hold, by place", {
    data: { values },
    width: WIDTH,
    height: { step: 24 },
    mark: { type: "bar", height: { band: 0.7 } },
    encoding: {
      y: { field: "file", type: "nominal", title: null, sort: null, axis: { labelLimit: 500 } },
      x: { field: "begin", type: "quantitative", title: "byte", axis: { format: "~s" } },
      x2: { field: "end" },
      color: { field: "what", type: "nominal", title: null, sort: null },
    },
  });
}

function stretches(name: string, file: SafetensorsFile): Stretch[] {
  const found: Stretch[] = [{ file: name, begin: 0, end: file.headerBytes, what: "header" }];
  for (const tensor of file.tensors.values()) {
    const engram = engramName(tensor.name);
    const what = engram === null ? "other tensors" : engram.part ?? "unknown Engram tensors";
    const end = tensor.offset + tensor.byteLength;
    const last = found[found.length - 1];
    if (last.what === what && last.end === tensor.offset) {
      found[found.length - 1] = { ...last, end };
    } else found.push({ file: name, begin: tensor.offset, end, what });
  }
  return found;
}

/** Each layer's table cut into its columns. */
export function columnMap({ layers, nHeads }: RowLayout): Promise<Html> {
  const values = layers.flatMap(({ layerId, offsets, primes }) =>
    primes.flat().map((rows, column) => ({
      layer: `layer ${layerId}`,
      begin: offsets[column],
      end: offsets[column] + rows,
      ngram: `${Math.floor(column / nHeads) + 2}-grams`,
    }))
  );
  return plot("The columns of each table, by row", {
    data: { values },
    width: WIDTH,
    height: { step: 34 },
    mark: { type: "bar", height: { band: 0.7 }, stroke: "currentColor", strokeWidth: 0.5 },
    encoding: {
      y: { field: "layer", type: "nominal", title: null, sort: null },
      x: { field: "begin", type: "quantitative", title: "row", axis: { format: "~s" } },
      x2: { field: "end" },
      color: { field: "ngram", type: "nominal", title: null },
    },
  });
}

/** Which rank holds which rows, for several numbers of ranks. */
export function rankMap(layout: RowLayout, tps: readonly number[]): Promise<Html> {
  const [layer] = layout.layers;
  const values = tps.flatMap((tp) =>
    rankSpans(layer, { tp }).flatMap(({ rank, ranges }) =>
      ranges.map(([begin, end]) => ({ tp: `tp ${tp}`, begin, end, rank }))
    )
  );
  return plot(`The rows that each rank holds of layer ${layer.layerId}, split by complete heads`, {
    data: { values },
    width: WIDTH,
    height: { step: 34 },
    mark: { type: "bar", height: { band: 0.7 }, stroke: "currentColor", strokeWidth: 0.5 },
    encoding: {
      y: { field: "tp", type: "nominal", title: null, sort: null },
      x: { field: "begin", type: "quantitative", title: "row", axis: { format: "~s" } },
      x2: { field: "end" },
      color: { field: "rank", type: "ordinal", scale: { scheme: "viridis" }, title: "rank" },
    },
  });
}
