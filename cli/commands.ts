import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { benchCommand } from "./commands/bench.ts";
import { completionsCommand } from "./commands/completions.ts";
import { hashCommand } from "./commands/hash.ts";
import { inspectCommand } from "./commands/inspect.ts";
import { layoutCommand } from "./commands/layout.ts";
import { lookupCommand } from "./commands/lookup.ts";
import { mapCommand } from "./commands/map.ts";
import { verifyCommand } from "./commands/verify.ts";

/** Every command, in the order help lists them: the single place a command is added. */
export const COMMANDS: readonly (() => CommandUnknownOpts)[] = [
  verifyCommand,
  inspectCommand,
  mapCommand,
  layoutCommand,
  hashCommand,
  lookupCommand,
  benchCommand,
  completionsCommand,
];
