import { createHash } from "node:crypto";
import { bytesOf } from "../lib/bytes/bytes_of.ts";
import type { Checkpoint } from "../lib/checkpoint/checkpoint.ts";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import type { LayerTables } from "./layer_tables.ts";

/** What every lookup has. */
export interface LookupJob {
  readonly checkpoint: Checkpoint;
  readonly tables: LayerTables;
  readonly opened: OpenedKernels;
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

/** Counts and digests the rows of a layer. */
export class RowDigest {
  readonly #hash = createHash("sha256");

  add(values: Uint16Array): void {
    this.#hash.update(bytesOf(values));
  }

  /** Ends the digest. */
  result(layerId: number, shape: readonly number[]): LayerResult {
    const rows = shape.slice(0, -1).reduce((product, n) => product * n, 1);
    return { layer_id: layerId, rows, shape, sha256: this.#hash.digest("hex") };
  }
}
