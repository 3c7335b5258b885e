import type { Workload } from "./request.ts";
import { hashWorkload } from "./workloads/hash.ts";
import { lookupWorkload } from "./workloads/lookup.ts";
import { mapWorkload } from "./workloads/map.ts";
import { readWorkload } from "./workloads/read.ts";

/** Every benchmark by its name on the command line. */
export const WORKLOADS: Readonly<Record<string, Workload>> = {
  hash: hashWorkload,
  map: mapWorkload,
  lookup: lookupWorkload,
  read: readWorkload,
};
