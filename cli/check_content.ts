import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { OutputFile } from "../lib/bytes/output_file.ts";
import { EngramError } from "../lib/errors.ts";
import { type Check, done } from "../lib/verify/check.ts";
import {
  contentFaults,
  contentOddities,
  contentReport,
  type TensorReport,
} from "../lib/verify/content_report.ts";
import { deepScan } from "../lib/verify/deep_scan.ts";
import { bytesOfRows } from "../lib/verify/scan_job.ts";
import { scanJobs } from "../lib/verify/scan_jobs.ts";
import { ScanState } from "../lib/verify/scan_state.ts";
import type { Survey } from "../lib/verify/survey.ts";
import type { Context } from "./command.ts";
import { bytes } from "./units.ts";

/** Milliseconds between two saves of the state. */
const SAVE_EVERY_MS = 2000;

/** How the content is read. */
export interface ContentOptions {
  /** Threads. */
  readonly workers?: number | undefined;
  /** File that keeps the state while the scan runs. */
  readonly resume?: string | undefined;
}

/** What was found in the content. */
export interface Content {
  /** The check, with what engines would read differently. */
  readonly check: Check;
  /** What is only odd. */
  readonly oddities: readonly string[];
  /** Every tensor's counts. */
  readonly tensors: readonly TensorReport[];
}

/** Reads every byte of the Engram tensors. */
export async function checkContent(
  { files, layers, layout }: Survey,
  options: ContentOptions,
  { signal, progress, printer }: Context,
): Promise<Content> {
  const jobs = scanJobs(layers, layout);
  const sources = new Map([...files.files.values()].map(({ source }) => [source.name, source]));
  const state = new ScanState(jobs, [...sources].map(([path, { size }]) => identity(path, size)));
  const { resume } = options;
  if (resume !== undefined && existsSync(resume)) {
    const taken = state.load(readFileSync(resume, "utf8"), resume);
    printer.note(
      taken ? `resuming from ${resume}` : `${resume} is of other files: starting anew`,
    );
  }
  let saved = performance.now();
  const save = () => {
    if (resume === undefined) return;
    using file = OutputFile.create(resume, { force: true });
    file.write(new TextEncoder().encode(state.save()));
    file.commit();
    saved = performance.now();
  };
  const total = jobs.reduce((sum, job) => sum + bytesOfRows(job, 0, job.rows), 0);
  const bar = progress("reading", total, "bytes");
  const started = performance.now();
  let read = 0;
  try {
    save();
    await deepScan(jobs, sources, state, {
      workers: options.workers,
      signal,
      onBytes(count, fresh) {
        if (fresh) read += count;
        bar.advance(count);
      },
      onState: () => performance.now() - saved > SAVE_EVERY_MS && save(),
    });
  } catch (error) {
    save();
    throw resume !== undefined && error instanceof EngramError && error.kind === "interrupted"
      ? new EngramError("interrupted", `Interrupted; what was read so far is in ${resume}`, {
        hint: "Run the same command again to go on from there",
      })
      : error;
  } finally {
    bar.stop();
  }
  if (resume !== undefined) rmSync(resume);
  const seconds = (performance.now() - started) / 1000;
  const tensors = jobs.map((job, i) => contentReport(job, state.stats[i], layout));
  const detail = `every byte of ${jobs.length} tensors, ${bytes(total)} ` +
    `(read at ${bytes(Math.round(read / seconds))}/s): NaN codes, scales of 0 and 255, ` +
    "zero and equal rows, distributions";
  return {
    check: done(
      "content",
      detail,
      tensors.flatMap(contentFaults).map(({ tensor, message }) => {
        const file = files.tensors.get(tensor)?.source.name ?? null;
        return { tensor, file, message };
      }),
    ),
    oddities: tensors.flatMap(contentOddities).map(({ message }) => message),
    tensors,
  };
}

/** A file that was changed since must be read again. */
function identity(path: string, size: number): string {
  try {
    return `${path}:${size}:${statSync(path).mtimeMs}`;
  } catch {
    return `${path}:${size}`;
  }
}
