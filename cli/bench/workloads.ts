import type { Workload } from "./request.ts";
import { evalWorkload } from "./workloads/eval.ts";
import { hashWorkload } from "./workloads/hash.ts";
import { kernelsWorkload } from "./workloads/kernels.ts";
import { lookupWorkload } from "./workloads/lookup.ts";
import { mapWorkload } from "./workloads/map.ts";
import { readWorkload } from "./workloads/read.ts";
import { shardWorkload } from "./workloads/shard.ts";
import { verifyWorkload } from "./workloads/verify.ts";

/** A benchmark, and the options that mean something to it beside those all take. */
interface Bench {
  readonly run: Workload;
  readonly takes: readonly BenchOption[];
}

/** Options that some benchmarks take and others do not. */
export const BENCH_OPTIONS = [
  "checkpoint",
  "table",
  "tokens",
  "ids",
  "text",
  "tokenizer",
  "backend",
  "cache",
  "tp",
  "device",
  "kernels",
  "baseline",
] as const;
type BenchOption = (typeof BENCH_OPTIONS)[number];

const TABLE = ["checkpoint", "table"] as const;
const TOKENS = ["tokens", "ids", "text", "tokenizer"] as const;

/** Every benchmark by its name on the command line. */
export const WORKLOADS: Readonly<Record<string, Bench>> = {
  hash: { run: hashWorkload, takes: ["checkpoint", ...TOKENS, "device", "baseline"] },
  map: { run: mapWorkload, takes: ["tokenizer"] },
  lookup: {
    run: lookupWorkload,
    takes: [...TABLE, ...TOKENS, "backend", "cache", "tp", "device", "baseline"],
  },
  eval: { run: evalWorkload, takes: [...TABLE, ...TOKENS, "backend", "device"] },
  kernels: { run: kernelsWorkload, takes: ["device", "kernels"] },
  shard: { run: shardWorkload, takes: [...TABLE, "tp"] },
  verify: { run: verifyWorkload, takes: TABLE },
  read: { run: readWorkload, takes: ["cache", "device"] },
};
