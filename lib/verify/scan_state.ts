import { createHash } from "node:crypto";
import { EngramError } from "../errors.ts";
import { type ColumnStats, mergeStats } from "./column_stats.ts";
import type { ScanJob } from "./scan_job.ts";

/** What a scan has found so far, and of which rows: plain data that can be saved and taken up. */
export class ScanState {
  /** Findings of each job, by column. */
  readonly stats: readonly Map<number, ColumnStats>[];
  /** Names the jobs and the files' state; a saved state of other files is not taken up. */
  readonly identity: string;
  readonly #done = new Set<string>();

  /** Nothing found yet. `files` says what the files are: names, sizes, times. */
  constructor(jobs: readonly ScanJob[], files: readonly string[]) {
    this.stats = jobs.map(() => new Map());
    this.identity = createHash("sha256").update(JSON.stringify([VERSION, jobs, files]))
      .digest("hex");
  }

  /** Whether the rows from `begin` to `end` of a job have been read. */
  has(index: number, begin: number, end: number): boolean {
    return this.#done.has(`${index}:${begin}-${end}`);
  }

  /** Adds what was found in the rows from `begin` to `end` of a job. */
  add(index: number, begin: number, end: number, found: Iterable<[number, ColumnStats]>): void {
    for (const [column, stats] of found) {
      const into = this.stats[index].get(column);
      if (into) mergeStats(into, stats);
      else this.stats[index].set(column, stats);
    }
    this.#done.add(`${index}:${begin}-${end}`);
  }

  /** The whole as JSON. */
  save(): string {
    const { identity, stats } = this;
    const jobs = stats.map((columns) => [...columns]);
    return JSON.stringify({ engram_scan: VERSION, identity, done: [...this.#done], jobs });
  }

  /**
   * Takes up a saved state; false where it is of other files or other jobs.
   *
   * @throws an {@linkcode EngramError} where it is no saved state at all.
   */
  load(text: string, where: string): boolean {
    const saved = parse(text, where);
    if (saved.identity !== this.identity) return false;
    saved.jobs.forEach((columns, i) => {
      for (const [column, stats] of columns) this.stats[i].set(column, stats);
    });
    for (const range of saved.done) this.#done.add(range);
    return true;
  }
}

const VERSION = 1;

interface Saved {
  readonly engram_scan: number;
  readonly identity: string;
  readonly done: string[];
  readonly jobs: [number, ColumnStats][][];
}

function parse(text: string, where: string): Saved {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = null;
  }
  if (typeof json === "object" && json !== null && "engram_scan" in json) {
    const { identity, done, jobs } = json as Partial<Saved>;
    if (typeof identity === "string" && Array.isArray(done) && Array.isArray(jobs)) {
      return json as Saved;
    }
  }
  throw new EngramError(
    "malformed",
    `Cannot resume from \`${where}\`: it is no state of a deep verification`,
    { where, hint: "Give a file of its own; it is written while the scan runs" },
  );
}
