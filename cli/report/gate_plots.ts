import type { HitRate } from "../../lib/plan/reuse_distances.ts";
import type { Html } from "./html.ts";
import { plot } from "./plot.ts";
import type { Gates } from "./gate_stats.ts";

const BINS = 50;
/** Points of the curve along the text. */
const STEPS = 400;
const SIZE = { width: 330, height: 190 };

/** How often gates of each size occur, a line for each copy. */
export function gateHistogram(gates: Gates, layerIds: readonly number[]): Promise<Html> {
  const { tokens, layers, copies, flags } = gates;
  const values = layerIds.flatMap((id, layer) =>
    Array.from({ length: copies }, (_, copy) => {
      const counts = new Array<number>(BINS).fill(0);
      let live = 0;
      for (let t = 0; t < tokens; t++) {
        if (flags[t] & 1) continue;
        live++;
        const gate = gates.gates[(t * layers + layer) * copies + copy] / 65535;
        counts[Math.min(BINS - 1, Math.floor(gate * BINS))]++;
      }
      return counts.map((count, bin) => ({
        layer: `layer ${id}`,
        copy: `copy ${copy}`,
        gate: (bin + 0.5) / BINS,
        share: live === 0 ? 0 : count / live,
      }));
    }).flat()
  );
  return plot("Distribution of gates over the live tokens, by layer and copy", {
    data: { values },
    facet: { column: { field: "layer", type: "nominal", title: null, sort: null } },
    spec: {
      ...SIZE,
      mark: { type: "line", interpolate: "step", strokeWidth: 1.5 },
      encoding: {
        x: { field: "gate", type: "quantitative", scale: { domain: [0, 1] }, title: "gate" },
        y: {
          field: "share",
          type: "quantitative",
          axis: { format: "%" },
          title: "share of tokens",
        },
        color: { field: "copy", type: "nominal", title: null },
      },
    },
  });
}

/** The mean gate along the text. */
export function gateCurve(
  { tokens, layers }: Gates,
  means: Float32Array,
  layerIds: readonly number[],
): Promise<Html> {
  const step = Math.max(1, Math.ceil(tokens / STEPS));
  const values = layerIds.flatMap((id, layer) =>
    Array.from({ length: Math.ceil(tokens / step) }, (_, i) => {
      const end = Math.min(tokens, (i + 1) * step);
      let sum = 0;
      for (let t = i * step; t < end; t++) sum += means[t * layers + layer];
      return { layer: `layer ${id}`, token: i * step, gate: sum / (end - i * step) };
    })
  );
  const each = step === 1 ? "each token" : `every ${step} tokens together`;
  return plot(`Mean gate over the copies along the text, ${each}`, {
    data: { values },
    width: 720,
    height: 160,
    mark: { type: "line", strokeWidth: 1.2 },
    encoding: {
      x: { field: "token", type: "quantitative", title: "token", axis: { format: ",d" } },
      y: { field: "gate", type: "quantitative", scale: { domain: [0, 1] }, title: "gate" },
      color: { field: "layer", type: "nominal", title: null, sort: null },
    },
  });
}

/** Distinct rows of each column. */
export function columnBars(
  distinct: readonly (readonly number[])[],
  layerIds: readonly number[],
  heads: number,
): Promise<Html> {
  const values = layerIds.flatMap((id, layer) =>
    distinct[layer].map((rows, column) => ({
      layer: `layer ${id}`,
      column,
      rows,
      ngram: `${Math.floor(column / heads) + 2}-grams`,
    }))
  );
  return plot("Distinct rows that the text reads, by column", {
    data: { values },
    facet: { column: { field: "layer", type: "nominal", title: null, sort: null } },
    spec: {
      ...SIZE,
      mark: "bar",
      encoding: {
        x: {
          field: "column",
          type: "ordinal",
          title: "column",
          axis: { labelAngle: 0, labelOverlap: true },
        },
        y: { field: "rows", type: "quantitative", title: "distinct rows" },
        color: { field: "ngram", type: "nominal", title: null },
      },
    },
  });
}

/** What a cache of so many rows would answer. */
export function hitCurves(
  curves: readonly (readonly HitRate[])[],
  layerIds: readonly number[],
): Promise<Html> {
  const values = layerIds.flatMap((id, layer) =>
    curves[layer].map(({ rows, hitRate }) => ({ layer: `layer ${id}`, rows, hits: hitRate }))
  );
  return plot("Row requests that a cache would answer, by its size (least recently used dropped)", {
    data: { values },
    width: 720,
    height: 200,
    mark: { type: "line", strokeWidth: 1.5 },
    encoding: {
      x: {
        field: "rows",
        type: "quantitative",
        title: "rows in the cache",
        scale: { type: "log", base: 2, nice: false },
        axis: { format: ",d", tickCount: 12, labelOverlap: true },
      },
      y: {
        field: "hits",
        type: "quantitative",
        scale: { domain: [0, 1] },
        title: "hits",
        axis: { format: "%" },
      },
      color: { field: "layer", type: "nominal", title: null, sort: null },
    },
  });
}
