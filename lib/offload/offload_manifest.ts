import { z } from "zod";
import { SPLITS } from "../layout/rank_spans.ts";

/** Name of the manifest in a folder of packed rows. */
export const MANIFEST_NAME = "engram-offload.json";

/** Written last: a folder without it was not finished, or is being written. Holds the manifest's digest. */
export const FINISHED_NAME = "engram-offload.finished";

const COUNT = z.int().min(0);

/** How a manifest looks; unknown keys are of a later version and not taken. */
export const MANIFEST = z.strictObject({
  format: z.literal(1),
  /** How the tables are split, and the one rank whose rows are here; null for the whole tables. */
  rank: z.strictObject({
    tp: COUNT.min(1),
    dp: COUNT.min(1),
    split: z.enum(SPLITS),
    rank: COUNT,
  }).nullable(),
  layers: z.array(z.strictObject({
    layer_id: COUNT,
    file: z.string().regex(/^[A-Za-z0-9._-]+$/),
    /** Bytes of the file. */
    size: COUNT,
    encoding: z.enum(["fp8", "int8", "bf16", "f16", "f32"]),
    head_dim: COUNT.min(1),
    record_bytes: COUNT.min(1),
    rows: COUNT,
    /** Rows [start, end) of the source's table, one range after another. */
    row_ranges: z.array(z.tuple([COUNT, COUNT])),
  })).min(1),
  /** The files the rows come from; `header_sha256` is of the header alone. */
  source: z.array(z.strictObject({
    file: z.string(),
    size: COUNT,
    header_sha256: z.string(),
  })),
});

/** What a folder of packed rows holds, and of which checkpoint. */
export type OffloadManifest = z.infer<typeof MANIFEST>;

/** One layer of a manifest. */
export type OffloadLayer = OffloadManifest["layers"][number];
