import { statSync } from "node:fs";
import { join } from "node:path";
import { EngramError } from "../errors.ts";
import { type Check, done, type Mismatch, notChecked } from "./check.ts";
import { runTasks } from "./run_tasks.ts";
import type { SumTask } from "./sum_worker.ts";

/** How {@linkcode checkSums} works. */
export interface SumOptions {
  /** Threads; all cores unless given. */
  readonly workers?: number | undefined;
  /** Stops the work with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the size of each file that was digested. */
  readonly onBytes?: (bytes: number) => void;
}

/** Compares the SHA-256 of files in `folder` with `sums` (digest by name), one file a thread. */
export async function checkSums(
  folder: string,
  sums: ReadonlyMap<string, string>,
  source: string,
  options: SumOptions = {},
): Promise<Check> {
  if (sums.size === 0) return notChecked("sha256", `no SHA-256 for any file here in ${source}`);
  const found: Omit<Mismatch, "check">[] = [];
  const tasks: SumTask[] = [];
  const sizes = new Map<string, number>();
  for (const file of sums.keys()) {
    refuseOutside(file, source);
    const path = join(folder, file);
    const size = sizeOf(path);
    if (size === null) {
      const message = `file \`${file}\` has a SHA-256 in ${source}, but is not there`;
      found.push({ tensor: null, file: path, message });
      continue;
    }
    sizes.set(file, size);
    tasks.push({ file, path });
  }
  // The longest first, so that no thread is left alone with one at the end.
  tasks.sort((a, b) => sizes.get(b.file)! - sizes.get(a.file)!);
  await runTasks<SumTask, string>(tasks, {
    module: new URL("./sum_worker.ts", import.meta.url),
    workers: options.workers ?? navigator.hardwareConcurrency,
    signal: options.signal,
    onResult(digest, { file, path }) {
      options.onBytes?.(sizes.get(file)!);
      const wanted = sums.get(file);
      if (digest === wanted) return;
      const message = `file \`${file}\` has SHA-256 ${digest}, wanted ${wanted} (${source})`;
      found.push({ tensor: null, file: path, message });
    },
  });
  return done("sha256", `${tasks.length} files against ${source}`, found);
}

function sizeOf(path: string): number | null {
  try {
    return statSync(path).size;
  } catch {
    return null;
  }
}

function refuseOutside(file: string, source: string): void {
  if (!file.startsWith("/") && !file.split(/[/\\]/).includes("..")) return;
  throw new EngramError(
    "malformed",
    `Cannot use ${source}: it names \`${file}\`, outside the checkpoint's folder`,
    { hint: "Make the list inside the folder: `sha256sum *.safetensors > SHA256SUMS`" },
  );
}
