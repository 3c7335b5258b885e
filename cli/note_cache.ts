import type { CacheCounts } from "../lib/table/cached_store.ts";
import type { Printer } from "./printer.ts";
import { count } from "./units.ts";

/** What a cache of rows has answered, where there was one. */
export function noteCache(printer: Printer, counts: CacheCounts | null): void {
  if (!counts || counts.requests === 0) return;
  const percent = (100 * counts.hits / counts.requests).toFixed(1);
  printer.note(
    `cache: ${percent} % of ${count(counts.requests)} rows were in it, ${
      count(counts.reads)
    } were read`,
  );
}
