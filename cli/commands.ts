import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { benchCommand } from "./commands/bench.ts";
import { completionsCommand } from "./commands/completions.ts";
import { convertCommand } from "./commands/convert.ts";
import { demoCommand } from "./commands/demo.ts";
import { diffCommand } from "./commands/diff.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { evalCommand } from "./commands/eval.ts";
import { exportCommand } from "./commands/export.ts";
import { hashCommand } from "./commands/hash.ts";
import { inspectCommand } from "./commands/inspect.ts";
import { layoutCommand } from "./commands/layout.ts";
import { lookupCommand } from "./commands/lookup.ts";
import { mapCommand } from "./commands/map.ts";
import { offloadCommand } from "./commands/offload.ts";
import { planCommand } from "./commands/plan.ts";
import { shardCommand } from "./commands/shard.ts";
import { vectorsCommand } from "./commands/vectors.ts";
import { verifyCommand } from "./commands/verify.ts";

/** Every command, in the order help lists them: the single place a command is added. */
export const COMMANDS: readonly (() => CommandUnknownOpts)[] = [
  inspectCommand,
  verifyCommand,
  mapCommand,
  layoutCommand,
  hashCommand,
  shardCommand,
  offloadCommand,
  planCommand,
  lookupCommand,
  evalCommand,
  exportCommand,
  convertCommand,
  vectorsCommand,
  diffCommand,
  benchCommand,
  doctorCommand,
  demoCommand,
  completionsCommand,
];
