import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { benchCommand } from "./commands/bench.ts";
import { completionsCommand } from "./commands/completions.ts";
import { layoutCommand } from "./commands/layout.ts";

/** Every command, in the order help lists them: the single place a command is added. */
export const COMMANDS: readonly (() => CommandUnknownOpts)[] = [
  layoutCommand,
  benchCommand,
  completionsCommand,
];
