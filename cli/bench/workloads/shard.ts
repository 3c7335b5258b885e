import { join } from "node:path";
import { openCheckpoint } from "../../../lib/checkpoint/open_checkpoint.ts";
import { rowLayout } from "../../../lib/layout/row_layout.ts";
import { planShards } from "../../../lib/shards/shard_plan.ts";
import { sourceIdentities } from "../../../lib/shards/source_identity.ts";
import { writeShards } from "../../../lib/shards/write_shards.ts";
import { benchCheckpoint } from "../bench_checkpoint.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

/** Writing all shards of a checkpoint, beside copying its files as `cp` does. */
export async function* shardWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  const checkpoint = await openCheckpoint(benchCheckpoint(request));
  try {
    const layout = rowLayout(checkpoint.config);
    const source = await sourceIdentities(checkpoint);
    for (const tp of request.tp) {
      const plans = planShards(checkpoint, layout, { tp }, source);
      const bytes = plans.reduce((sum, { file }) => sum + file.size, 0);
      const shared = {
        name: "shard",
        counted: "bytes written; each is read once",
        excluded: "opening the checkpoint; syncing to the disk is in the time",
        gpuSamples: null,
        warnings: [],
      };
      const out = join(request.scratch, "shards");
      yield {
        ...shared,
        variant: "engram shard",
        role: "case",
        parameters: { tp },
        work: { tokens: null, rows: null, distinctRows: null, bytes },
        samples: await sample(async () => {
          const start = performance.now();
          await writeShards(plans, out, { signal: request.sampling.signal });
          const seconds = (performance.now() - start) / 1000;
          await Deno.remove(out, { recursive: true });
          return seconds;
        }, request.sampling),
      };
    }
    yield await copyBaseline(checkpoint.files, request);
  } finally {
    checkpoint.close();
  }
}

async function copyBaseline(
  files: ReadonlyMap<string, { source: { name: string; size: number } }>,
  { scratch, sampling }: BenchRequest,
): Promise<BenchResult> {
  const sources = [...files.values()].map(({ source }) => source);
  const target = join(scratch, "copy");
  return {
    name: "shard",
    variant: "copying the files in the kernel, as cp does",
    role: "baseline",
    parameters: {},
    work: {
      tokens: null,
      rows: null,
      distinctRows: null,
      bytes: sources.reduce((sum, { size }) => sum + size, 0),
    },
    counted: "bytes written; each is read once",
    excluded: "nothing; syncing to the disk is in the time",
    samples: await sample(async () => {
      const start = performance.now();
      for (const { name } of sources) {
        await Deno.copyFile(name, target);
        using file = await Deno.open(target, { write: true });
        await file.sync();
      }
      const seconds = (performance.now() - start) / 1000;
      await Deno.remove(target);
      return seconds;
    }, sampling),
    gpuSamples: null,
    warnings: [],
  };
}
