import { openCheckpoint } from "../../../lib/checkpoint/open_checkpoint.ts";
import { rowLayout } from "../../../lib/layout/row_layout.ts";
import { deepScan } from "../../../lib/verify/deep_scan.ts";
import { bytesOfRows } from "../../../lib/verify/scan_job.ts";
import { scanJobs } from "../../../lib/verify/scan_jobs.ts";
import { ScanState } from "../../../lib/verify/scan_state.ts";
import { benchCheckpoint } from "../bench_checkpoint.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

const CHUNK = 8 * 2 ** 20;

/** Reading every byte of the Engram tensors, on one thread and on all, beside reading alone. */
export async function* verifyWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  const checkpoint = await openCheckpoint(benchCheckpoint(request));
  try {
    const layout = rowLayout(checkpoint.config);
    const jobs = scanJobs(checkpoint.layers, layout);
    const sources = new Map(
      [...checkpoint.files.values()].map(({ source }) => [source.name, source]),
    );
    const bytes = jobs.reduce((sum, job) => sum + bytesOfRows(job, 0, job.rows), 0);
    const shared = {
      name: "verify",
      work: { tokens: null, rows: null, distinctRows: null, bytes },
      counted: "bytes of the Engram tensors, each once",
      excluded: "opening the checkpoint",
      gpuSamples: null,
      warnings: [],
    };
    for (const workers of new Set([1, navigator.hardwareConcurrency])) {
      yield {
        ...shared,
        variant: workers === 1 ? "deep scan, one thread" : `deep scan, ${workers} threads`,
        role: "case",
        parameters: {},
        samples: await sample(async () => {
          const state = new ScanState(jobs, []);
          await deepScan(jobs, sources, state, { workers, signal: request.sampling.signal });
        }, request.sampling),
      };
    }
    const buffer = new Uint8Array(CHUNK);
    yield {
      ...shared,
      variant: "reading alone, 8 MiB at a time, one thread",
      role: "baseline",
      parameters: {},
      samples: await sample(async () => {
        for (const source of sources.values()) {
          for (let at = 0; at < source.size; at += CHUNK) {
            await source.read(buffer.subarray(0, Math.min(CHUNK, source.size - at)), at);
          }
        }
      }, request.sampling),
    };
  } finally {
    checkpoint.close();
  }
}
