import { z } from "zod";
import { SHARD_KEY } from "../checkpoint/checkpoint_files.ts";
import { SPLITS } from "../layout/rank_spans.ts";

/** Key of a shard's `__metadata__` that holds its manifest as JSON. */
export const MANIFEST_KEY = SHARD_KEY;

const COUNT = z.int().min(0);

const MANIFEST = z.object({
  format: z.literal(1),
  split: z.enum(SPLITS),
  tp: COUNT.min(1),
  dp: COUNT.min(1),
  rank: COUNT,
  layers: z.array(z.object({
    layer_id: COUNT,
    columns: z.array(COUNT),
    row_ranges: z.array(z.tuple([COUNT, COUNT])),
    rows: COUNT,
    table_rows: COUNT,
  })),
  source: z.array(z.object({
    file: z.string(),
    size: COUNT,
    header_sha256: z.string(),
  })),
});

/**
 * What a shard says it holds, and of which checkpoint: for each layer the columns served, the rows
 * [start, end) held and the rows of the whole table; for each source file its name, size and the
 * SHA-256 of its header (a digest of 100 GB of content would cost more than the copy; `engram
 * verify --shards` compares every byte instead).
 */
export type ShardManifest = z.infer<typeof MANIFEST>;

/** Reads a shard's manifest from its metadata; null where it has none that can be read. */
export function readManifest(metadata: ReadonlyMap<string, string>): ShardManifest | null {
  const text = metadata.get(MANIFEST_KEY);
  if (text === undefined) return null;
  try {
    return MANIFEST.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
