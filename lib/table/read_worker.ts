import type { SyncByteSource } from "../bytes/byte_source.ts";
import { openFile } from "../bytes/file_source.ts";
import { answerTasks } from "../workers/answer_tasks.ts";
import { type PartPlace, PartReader } from "./part_reader.ts";

/** A run of a plan's slots to be read; all arrays lie in memory that the threads share. */
export interface ReadTask {
  /** The parts of a record, each with its file. */
  readonly parts:
    readonly (PartPlace & { readonly path: string; readonly identity: string | undefined })[];
  /** As of a `RowPlan`. */
  readonly sorted: Float64Array;
  /** As of a `RowPlan`. */
  readonly places: Int32Array;
  /** Records [ids, recordBytes]. */
  readonly out: Uint8Array;
  /** First slot. */
  readonly first: number;
  /** Slot after the last one. */
  readonly last: number;
}

const sources = new Map<string, SyncByteSource>();

function open(path: string, identity: string | undefined): SyncByteSource {
  let source = sources.get(path);
  if (!source) sources.set(path, source = openFile(path, identity));
  return source;
}

answerTasks(({ parts, sorted, places, out, first, last }: ReadTask): null => {
  for (const { path, identity, ...place } of parts) {
    new PartReader(sorted, places, out, place).readSync(open(path, identity), first, last);
  }
  return null;
});
