import { Command } from "@commander-js/extra-typings";
import { keepInputs } from "./keep_inputs.ts";
import { type Permission, permissionLines } from "./permissions.ts";
import type { Printer } from "./printer.ts";
import { type Progress, startProgress } from "./progress.ts";

/** What a running command gets beside its arguments. */
export interface Context {
  /** Owns both streams. */
  readonly printer: Printer;
  /** Aborted by SIGINT and SIGTERM; pass it into every long job. */
  readonly signal: AbortSignal;
  /** Starts a progress bar (a no-op off a terminal). */
  progress(label: string, total: number, unit: "bytes" | "tokens" | "rows" | "items"): Progress;
}

/** What the help of a command says beside its arguments and options. */
export interface About {
  /** One line, for the list of commands. */
  readonly summary: string;
  /** More, shown in the command's own help. */
  readonly details?: string;
  /** Command lines that can be typed as they stand, without `engram`, each with what it does. */
  readonly examples: readonly (readonly [commandLine: string, does: string])[];
  /** Deno permissions the command uses; a local job never uses the network. */
  readonly permissions: readonly Permission[];
}

/** Commands by their commander object, so that the reference and the tests can list them. */
export const ABOUT: WeakMap<object, About> = new WeakMap();

/** A command with the options all commands share. Add arguments, options and an action that calls `begin`. */
export function command(name: string, about: About) {
  const made = new Command(name)
    .summary(about.summary)
    .description(about.details ? `${about.summary}.\n\n${about.details}` : `${about.summary}.`)
    .option("--json", "print exactly one JSON value on stdout (errors on stderr)")
    .option("-q, --quiet", "no notes and no progress bar on stderr")
    .addHelpText("after", () => helpTail(about))
    .hook("preAction", (_, run) => keepInputs(run.processedArgs, run.opts()));
  ABOUT.set(made, about);
  return made;
}

function helpTail(about: About): string {
  const examples = about.examples.map(([line, does]) => `  # ${does}\n  engram ${line}`);
  const permissions = permissionLines(about.permissions).map((line) => `  ${line}`);
  return `\nExamples:\n${examples.join("\n")}\n\nPermissions:\n${permissions.join("\n")}`;
}

let context: Context | undefined;

/** Called once for each run, before commands are parsed. */
export function setContext(printer: Printer, signal: AbortSignal): void {
  context = {
    printer,
    signal,
    progress: (label, total, unit) => startProgress(printer, label, total, unit),
  };
}

/** Begins a command's body: sets --json and --quiet from its options and gives the context. */
export function begin(options: { json?: true; quiet?: true }): Context {
  if (!context) throw new Error("no context: run commands through run()");
  context.printer.json = options.json ?? false;
  context.printer.quiet = options.quiet ?? false;
  return context;
}
