/** Looks at rows in a thread of its own; see `scan_rows.ts`. */
import type { SyncByteSource } from "../bytes/byte_source.ts";
import { openFile } from "../bytes/file_source.ts";
import type { ColumnStats } from "./column_stats.ts";
import { answerTasks } from "../workers/answer_tasks.ts";
import type { ScanJob } from "./scan_job.ts";
import { scanRows } from "./scan_rows.ts";

/** Some rows of a job. */
export interface ScanTask {
  /** The job's place in the list of jobs. */
  readonly index: number;
  /** The job. */
  readonly job: ScanJob;
  /** First row. */
  readonly begin: number;
  /** Row after the last one. */
  readonly end: number;
  /** Identities of the files, by path. */
  readonly identities: ReadonlyMap<string, string | undefined>;
}

const sources = new Map<string, SyncByteSource>();

function open(path: string, identity: string | undefined): SyncByteSource {
  let source = sources.get(path);
  if (!source) sources.set(path, source = openFile(path, identity));
  return source;
}

answerTasks(
  async ({ job, begin, end, identities }: ScanTask): Promise<[number, ColumnStats][]> => [
    ...await scanRows(job, begin, end, (path) => open(path, identities.get(path))),
  ],
);
