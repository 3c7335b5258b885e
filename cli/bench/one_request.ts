import type { HashBatch } from "../../lib/hash/hash_batch.ts";

/** Compressed ids as one request from position 0. */
export function oneRequest(ids: Int32Array): HashBatch {
  return {
    ids,
    positions: Int32Array.from(ids, (_, i) => i),
    starts: Int32Array.of(0, ids.length),
    windowDepth: 0,
  };
}
