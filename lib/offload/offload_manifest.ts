import { z } from "zod";
import type { RowEncoding } from "../table/row_store.ts";
import { type Split, SPLITS } from "../layout/rank_spans.ts";

/** Name of the manifest in a folder of packed rows. */
export const MANIFEST_NAME = "engram-offload.json";

/** Written last: a folder without it was not finished, or is being written. Holds the manifest's digest. */
export const FINISHED_NAME = "engram-offload.finished";

/** What a folder of packed rows holds, and of which checkpoint. */
export interface OffloadManifest {
  /** Version of this format. */
  format: 1;
  /** How the tables are split, and the one rank whose rows are here; null for the whole tables. */
  rank: { tp: number; dp: number; split: Split; rank: number } | null;
  /** The layers, a file each. */
  layers: OffloadLayer[];
  /** The files the rows come from; `header_sha256` is of the header alone. */
  source: { file: string; size: number; header_sha256: string }[];
}

/** One layer of a manifest. */
export interface OffloadLayer {
  /** The decoder layer's id. */
  layer_id: number;
  /** File name in the folder. */
  file: string;
  /** Bytes of the file. */
  size: number;
  /** How a record is decoded. */
  encoding: RowEncoding["kind"];
  /** Values in a row. */
  head_dim: number;
  /** Bytes of a record. */
  record_bytes: number;
  /** Records. */
  rows: number;
  /** Rows [start, end) of the source's table, one range after another. */
  row_ranges: [start: number, end: number][];
}

const COUNT = z.int().min(0);

/** Checks a manifest; unknown keys are of a later version and not taken. */
export const MANIFEST: z.ZodType<OffloadManifest> = z.strictObject({
  format: z.literal(1),
  rank: z.strictObject({
    tp: COUNT.min(1),
    dp: COUNT.min(1),
    split: z.enum(SPLITS),
    rank: COUNT,
  }).nullable(),
  layers: z.array(z.strictObject({
    layer_id: COUNT,
    file: z.string().regex(/^[A-Za-z0-9._-]+$/),
    size: COUNT,
    encoding: z.enum(["fp8", "int8", "bf16", "f16", "f32"]),
    head_dim: COUNT.min(1),
    record_bytes: COUNT.min(1),
    rows: COUNT,
    row_ranges: z.array(z.tuple([COUNT, COUNT])),
  })).min(1),
  source: z.array(z.strictObject({ file: z.string(), size: COUNT, header_sha256: z.string() })),
});
