import type { Workload } from "./request.ts";
import { evalWorkload } from "./workloads/eval.ts";
import { hashWorkload } from "./workloads/hash.ts";
import { kernelsWorkload } from "./workloads/kernels.ts";
import { lookupWorkload } from "./workloads/lookup.ts";
import { mapWorkload } from "./workloads/map.ts";
import { readWorkload } from "./workloads/read.ts";
import { shardWorkload } from "./workloads/shard.ts";
import { verifyWorkload } from "./workloads/verify.ts";

/** Every benchmark by its name on the command line. */
export const WORKLOADS: Readonly<Record<string, Workload>> = {
  hash: hashWorkload,
  map: mapWorkload,
  lookup: lookupWorkload,
  eval: evalWorkload,
  kernels: kernelsWorkload,
  shard: shardWorkload,
  verify: verifyWorkload,
  read: readWorkload,
};
