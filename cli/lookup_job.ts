import { createHash } from "node:crypto";
import type { Checkpoint, EngramLayer } from "../lib/checkpoint/checkpoint.ts";
import type { Kernels } from "../lib/engram/kernels.ts";
import { type LayerRows, type RankChoice, rankRows, wholeRows } from "../lib/engram/layer_rows.ts";
import { EngramError } from "../lib/errors.ts";
import type { LayerLayout } from "../lib/layout/layout.ts";
import { fileStore } from "../lib/table/file_store.ts";

/** What every lookup has. */
export interface LookupJob {
  readonly checkpoint: Checkpoint;
  readonly kernels: Kernels;
  /** The split over ranks; null for none. */
  readonly choice: RankChoice | null;
  /** Path of the output; without one only a summary is made. */
  readonly out: string | undefined;
  readonly force: boolean;
}

/** What a lookup did. */
export interface LookupResult {
  /** Tokens, requests and dead tokens; null where row numbers were given. */
  readonly tokens: number | null;
  readonly requests: number | null;
  readonly dead_tokens: number | null;
  readonly device: string;
  readonly layers: readonly LayerResult[];
}

/** What was looked up of one layer. */
export interface LayerResult {
  readonly layer_id: number;
  readonly rows: number;
  readonly shape: readonly number[];
  /** Of the bf16 values, little-endian. */
  readonly sha256: string;
}

/** How a layer's rows are looked up; checks that the table holds what the layout needs. */
export function layerRowsOf(
  { kernels, choice }: LookupJob,
  layer: EngramLayer,
  layout: LayerLayout | null,
): LayerRows {
  const store = fileStore(layer);
  if (layout) checkTable(layer, layout);
  if (choice && layout) return rankRows(kernels, layout, choice, () => ({ store, whole: true }));
  return wholeRows(kernels, store, layout ? layout.offsets.length : 1);
}

function checkTable({ layerId, rows, embed }: EngramLayer, layout: LayerLayout): void {
  if (rows >= layout.rows) return;
  throw new EngramError(
    "mismatch",
    `Cannot look up in layer ${layerId}: its table has ${rows} rows, ` +
      `wanted ${layout.rows}, the sum of its primes`,
    { ...(embed && { where: embed.weight.source.name }) },
  );
}

/** Counts and digests the rows of a layer. */
export class RowDigest {
  readonly #hash = createHash("sha256");

  add(values: Uint16Array): void {
    this.#hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  /** Ends the digest. */
  result(layerId: number, shape: readonly number[]): LayerResult {
    const rows = shape.slice(0, -1).reduce((product, n) => product * n, 1);
    return { layer_id: layerId, rows, shape, sha256: this.#hash.digest("hex") };
  }
}
