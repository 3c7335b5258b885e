import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import type { Layout } from "../layout/layout.ts";
import { rankSpans, SPLITS } from "../layout/rank_spans.ts";
import type { ShardManifest } from "../shards/shard_manifest.ts";
import { addCause, type Cause, sameValues } from "./cause.ts";
import type { DumpArray } from "./dump.ts";

/** Rows looked at of a shard: enough to tell tables apart. */
const SAMPLED = 64;

/** What stands in an engine's shard instead of the rows its rank should hold. */
export async function shardCauses(
  actual: DumpArray,
  part: "weight" | "scale",
  index: number,
  manifest: ShardManifest,
  layout: Layout,
  layers: readonly EngramLayer[],
  causes: Cause[],
): Promise<void> {
  const [rows] = actual.shape;
  const { tp, dp, rank, split } = manifest;
  const places = [
    ...new Set(Array.from({ length: SAMPLED }, (_, i) => Math.floor(i * rows / SAMPLED))),
  ];
  const found = await entries(actual, places);
  /** Whether the shard holds the rows of `ranges` of a layer's table, one range after another. */
  const holds = async (layer: EngramLayer, ranges: readonly (readonly [number, number])[]) => {
    if (ranges.reduce((sum, [start, end]) => sum + end - start, 0) !== rows) return false;
    const table = part === "weight" ? tableOf(layer).weight : tableOf(layer).scale;
    if (!table) return false;
    const wanted = places.map((place) => rowAt(ranges, place));
    const rowBytes = table.byteLength / layer.rows;
    const width = found.length / places.length;
    const values = new Float64Array(found.length);
    const bytes = new Uint8Array(rowBytes);
    for (const [i, row] of wanted.entries()) {
      if (row < 0 || row >= layer.rows) return false;
      await table.source.read(bytes, table.offset + row * rowBytes);
      values.set(rowValues(bytes, table.dtype, width), i * width);
    }
    return sameValues(values, found);
  };
  const own = layers[index];
  const span = rankSpans(layout.layers[index], { tp, dp, split })[rank];
  for (const way of SPLITS) {
    const other = rankSpans(layout.layers[index], { tp, dp, split: way });
    for (const held of other) {
      if (way === split && held.rank === rank) continue;
      if (!await holds(own, held.ranges)) continue;
      const cause = way === split
        ? { id: "rank-other", cause: `rows are those of rank ${held.rank}` }
        : way === "rows"
        ? {
          id: "plain-rows",
          cause: `rows are split plainly, ceil(rows / ranks) each, wanted ${split}`,
        }
        : { id: "strided", cause: `columns are split by ${way}, wanted ${split}` };
      if (held.rank === rank || way === split) addCause(causes, cause, actual.name);
    }
  }
  if (span.rowStart > 0 && await holds(own, [[0, rows]])) {
    addCause(causes, {
      id: "rank-base",
      cause: "the rank's first row is not added: rows are those from the table's start on",
    }, actual.name);
  }
  for (const shift of [1, -1]) {
    const moved = span.ranges.map(([start, end]): [number, number] => [start + shift, end + shift]);
    if (!await holds(own, moved)) continue;
    const id = part === "scale" ? "scale-off-by-one" : "row-off-by-one";
    const cause = `${part === "scale" ? "scales are" : "rows are"} those of the row ${
      shift > 0 ? "behind" : "before"
    } each`;
    addCause(causes, { id, cause }, actual.name);
  }
  for (const [other, layer] of layers.entries()) {
    if (other === index) continue;
    for (
      const ranges of [span.ranges, rankSpans(layout.layers[other], { tp, dp, split })[rank].ranges]
    ) {
      if (!await holds(layer, ranges)) continue;
      addCause(
        causes,
        { id: "other-layer", cause: `rows are those of layer ${layer.layerId}` },
        actual.name,
      );
    }
  }
}

async function entries(array: DumpArray, places: readonly number[]): Promise<Float64Array> {
  const width = array.shape.slice(1).reduce((product, n) => product * n, 1);
  const values = new Float64Array(places.length * width);
  for (const [i, place] of places.entries()) {
    values.set(await array.read(place * width, width), i * width);
  }
  return values;
}

function rowAt(ranges: readonly (readonly [number, number])[], place: number): number {
  for (const [start, end] of ranges) {
    if (place < end - start) return start + place;
    place -= end - start;
  }
  return -1;
}

function rowValues(bytes: Uint8Array, dtype: string, width: number): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: width }, (_, i) => {
    switch (dtype) {
      case "I8":
        return view.getInt8(i);
      case "F32":
        return view.getFloat32(4 * i, true);
      case "F16":
        return view.getFloat16(2 * i, true);
      case "BF16": {
        const wide = new DataView(new ArrayBuffer(4));
        wide.setUint16(0, view.getUint16(2 * i, true));
        return wide.getFloat32(0);
      }
      default:
        return bytes[i];
    }
  });
}
