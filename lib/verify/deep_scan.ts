import { type ByteSource, isSyncSource } from "../bytes/byte_source.ts";
import { isRemote } from "../bytes/open_location.ts";
import type { ColumnStats } from "./column_stats.ts";
import { runTasks } from "./run_tasks.ts";
import { bytesOfRows, type ScanJob } from "./scan_job.ts";
import { scanRows } from "./scan_rows.ts";
import type { ScanState } from "./scan_state.ts";
import type { ScanTask } from "./scan_worker.ts";

/** Bytes of one task: short enough to resume closely, long enough to be worth sending. */
const TASK_BYTES = 128 * 2 ** 20;

/** Below this starting workers takes longer than reading from the page cache. */
const FEW_BYTES = 2 ** 30;

/** How {@linkcode deepScan} reads. */
export interface DeepScanOptions {
  /** Threads; all cores unless given. */
  readonly workers?: number | undefined;
  /** Bytes up to which this thread does it all; 1 GiB unless given. */
  readonly fewBytes?: number | undefined;
  /** Stops the scan with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes of each part; `fresh` is false where the state had it already. */
  readonly onBytes?: (bytes: number, fresh: boolean) => void;
  /** Called after each part: the time to save the state. */
  readonly onState?: () => void;
}

/** Reads every byte of `jobs` that `state` has not seen, and adds to it what is found. */
export async function deepScan(
  jobs: readonly ScanJob[],
  sources: ReadonlyMap<string, ByteSource>,
  state: ScanState,
  options: DeepScanOptions = {},
): Promise<void> {
  const { fewBytes = FEW_BYTES, signal, onBytes = () => {}, onState = () => {} } = options;
  const tasks: ScanTask[] = [];
  let bytes = 0;
  const identities = new Map(
    [...sources].map(([path, source]) => [
      path,
      isSyncSource(source) ? source.identity : undefined,
    ]),
  );
  for (const task of allTasks(jobs, identities)) {
    const size = bytesOfRows(task.job, task.begin, task.end);
    if (state.has(task.index, task.begin, task.end)) onBytes(size, false);
    else {
      tasks.push(task);
      bytes += size;
    }
  }
  const done = ({ index, job, begin, end }: ScanTask, found: Iterable<[number, ColumnStats]>) => {
    state.add(index, begin, end, found);
    onBytes(bytesOfRows(job, begin, end), true);
    onState();
  };
  const workers = options.workers ?? navigator.hardwareConcurrency;
  const local = [...sources.keys()].every((path) => !isRemote(path));
  if (local && workers > 1 && bytes > fewBytes) {
    await runTasks<ScanTask, [number, ColumnStats][]>(tasks, {
      module: new URL("./scan_worker.ts", import.meta.url),
      workers,
      signal,
      onResult: (found, task) => done(task, found),
    });
  } else {
    const open = (path: string) => sources.get(path) as ByteSource;
    for (const task of tasks) {
      done(task, await scanRows(task.job, task.begin, task.end, open, signal));
    }
  }
  for (const source of sources.values()) source.checkUnchanged();
}

function* allTasks(
  jobs: readonly ScanJob[],
  identities: ScanTask["identities"],
): Generator<ScanTask> {
  for (const [index, job] of jobs.entries()) {
    const rows = Math.max(1, Math.floor(TASK_BYTES / bytesOfRows(job, 0, 1)));
    for (let begin = 0; begin < job.rows; begin += rows) {
      yield { index, job, begin, end: Math.min(begin + rows, job.rows), identities };
    }
  }
}
