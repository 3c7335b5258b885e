import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import type { Layout } from "../layout/layout.ts";
import { columnOrders, rankBases, rankCounts } from "./column_mistakes.ts";
import { readRows, type ScaleMistake } from "./row_reader.ts";

/** A known mistake of a lookup, and the rows it gives. */
export interface RowMistake {
  /** A stable word. */
  readonly id: string;
  /** What is wrong, for people. */
  readonly cause: string;
  /** Values [tokens, columns, headDim]. */
  rows(): Promise<Float64Array>;
}

/** A sample of one layer's rows. */
export interface RowSample {
  /** The layer's place in the layout. */
  readonly index: number;
  /** The rows as they should be [tokens, columns, headDim]. */
  readonly expected: Float64Array;
  /** Rows of all layers of the same tokens, as they should be, where they were dumped. */
  readonly others: ReadonlyMap<number, Float64Array>;
  /** Row numbers of all layers [tokens, layers, columns]; null where they are not known. */
  readonly ids: Float64Array | null;
  /** Columns of a token: the layout's, or one rank's. */
  readonly columns: number;
  /** Values in a row. */
  readonly headDim: number;
}

const SCALE_MISTAKES: readonly (readonly [string, string, ScaleMistake])[] = [
  ["scale-as-number", "scale bytes are read as numbers, wanted exponents", "as numbers"],
  ["scale-off-by-one", "each group takes the scale of the group behind it", { groups: 1 }],
  ["scale-off-by-one", "each group takes the scale of the group before it", { groups: -1 }],
  ["scale-off-by-one", "each row takes the scales of the row behind it", { rows: 1 }],
  ["scale-off-by-one", "each row takes the scales of the row before it", { rows: -1 }],
];

/** All known mistakes of a lookup whose row numbers are right; `layers` are null without tables. */
export function* rowMistakes(
  layout: Layout,
  layers: readonly EngramLayer[] | null,
  { index, expected, others, ids, columns: held, headDim }: RowSample,
): Generator<RowMistake> {
  const { columns } = layout;
  const known = (id: string, cause: string, values: () => Float64Array): RowMistake => ({
    id,
    cause,
    // deno-lint-ignore require-await -- others have to read
    rows: async () => values(),
  });
  for (const [other, values] of others) {
    if (other === index) continue;
    const cause = `rows are those of layer ${layout.layers[other].layerId}`;
    yield known("other-layer", `${cause}, looked up with its own row numbers`, () => values);
  }
  for (const [factor, what] of [[2, "too large"], [0.5, "too small"]] as const) {
    yield known(
      "scale-off-by-one",
      `scales' exponents are one ${what}`,
      () => expected.map((value) => value * factor),
    );
  }
  const perToken = columns * headDim;
  if (held === columns) {
    for (const { id, cause, order } of columnOrders(layout)) {
      yield known(id, cause, () => {
        const out = new Float64Array(expected.length);
        for (let at = 0; at < out.length; at += perToken) {
          order.forEach((column, i) => {
            const from = at + column * headDim;
            out.set(expected.subarray(from, from + headDim), at + i * headDim);
          });
        }
        return out;
      });
    }
  }
  if (!layers || !ids) return;
  const own = layerPart(ids, index, layout);
  const layer = layers[index];
  const read = (
    id: string,
    cause: string,
    from: EngramLayer,
    rows: Float64Array,
    mistake?: ScaleMistake,
  ): RowMistake => ({ id, cause, rows: () => readRows(from, rows, mistake) });
  for (const [id, cause, mistake] of SCALE_MISTAKES) {
    if (layer.encoding.scaleBytes === 0) break;
    if (mistake === "as numbers" && layer.encoding.kind !== "fp8") continue;
    yield read(id, cause, layer, own, mistake);
  }
  for (const [other, from] of layers.entries()) {
    if (other === index) continue;
    const what = `rows are read from the table of layer ${from.layerId}`;
    yield read("other-layer", `${what}, with the row numbers of this layer`, from, own);
    yield read(
      "other-layer",
      `row numbers are those of layer ${from.layerId}`,
      layer,
      layerPart(ids, other, layout),
    );
  }
  for (const tp of rankCounts(columns)) {
    const bases = rankBases(layout.layers[index], tp);
    yield read(
      "rank-base",
      `the first row of each of ${tp} ranks is not added to row numbers that count from it`,
      layer,
      own.map((id, i) => id - bases[i % columns]),
    );
  }
}

/** One layer's part [tokens, columns] of row numbers [tokens, layers, columns]. */
export function layerPart(
  ids: Float64Array,
  index: number,
  { layers, columns }: Layout,
): Float64Array {
  const tokens = ids.length / (layers.length * columns);
  const part = new Float64Array(tokens * columns);
  for (let token = 0; token < tokens; token++) {
    const from = (token * layers.length + index) * columns;
    part.set(ids.subarray(from, from + columns), token * columns);
  }
  return part;
}
