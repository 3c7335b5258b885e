import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { COMMANDS } from "./commands.ts";
import { interruptRequests } from "../lib/bytes/interrupt.ts";
import { TRAFFIC, type Traffic } from "../lib/bytes/traffic.ts";
import { EngramError } from "../lib/errors.ts";
import { setContext } from "./command.ts";
import { EXIT_CODES, reportFailure } from "./failure.ts";
import { Printer, type Streams } from "./printer.ts";
import { bytes, count } from "./units.ts";
import { VERSION } from "./version.ts";

/** The whole command tree, freshly made (commander keeps parsed values in it). */
export function program(): Command {
  const root = new Command("engram")
    .description(
      "Engram tables of DeepSeek-V4.1-style models: open, hash, shard, look up, verify, benchmark.",
    )
    .version(VERSION, "-V, --version")
    .showSuggestionAfterError()
    .helpCommand(true);
  for (const make of COMMANDS) root.addCommand(make() as unknown as Command);
  return root as unknown as Command;
}

/** Runs one command line and returns its exit code; never throws and never exits. */
export async function run(
  args: readonly string[],
  streams: Streams,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const printer = new Printer(streams);
  // Errors found while parsing must already come as JSON.
  printer.json = beforeDashes(args).includes("--json");
  setContext(printer, signal);
  interruptRequests(signal);
  const root = program();
  let usage = "";
  each(root, (command) =>
    command.exitOverride().configureOutput({
      writeOut: (text) => printer.data(text),
      writeErr: (text) => usage += text,
    }));
  try {
    if (args.length === 0) {
      printer.err(root.helpInformation());
      return EXIT_CODES.usage;
    }
    const before = { ...TRAFFIC };
    await root.parseAsync([...args], { from: "user" });
    noteTraffic(printer, before);
    return EXIT_CODES.ok;
  } catch (error) {
    if (error instanceof CommanderError) {
      return usageFailure(printer, error, usage, root.commands.find((c) => c.name() === args[0]));
    }
    if (debugging() && error instanceof Error) printer.err(`${error.stack}\n`);
    return reportFailure(printer, error);
  }
}

/** Errors must come through without the permission to read the environment. */
function debugging(): boolean {
  const name = "ENGRAM_DEBUG";
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" && Boolean(Deno.env.get(name));
}

/** What a remote checkpoint has cost. */
function noteTraffic(printer: Printer, before: Traffic): void {
  const requests = TRAFFIC.requests - before.requests;
  if (requests === 0) return;
  printer.note(`fetched ${bytes(TRAFFIC.bytes - before.bytes)} in ${count(requests)} requests`);
}

function usageFailure(
  printer: Printer,
  error: CommanderError,
  usage: string,
  command: CommandUnknownOpts | undefined,
): number {
  if (error.exitCode === 0) return EXIT_CODES.ok;
  const [first, ...rest] = usage.trim().replace(/^error: /, "").split("\n");
  if (error.code === "commander.help") printer.err(usage);
  else {
    const suggestion = rest.join(" ").trim();
    const hint = suggestion ||
      (error.code === "commander.missingArgument" && command && swallowed(command)) ||
      "Run the command with --help to see what it takes";
    reportFailure(printer, new EngramError("usage", first, { hint }));
  }
  return EXIT_CODES.usage;
}

/** Where an option that takes all the words after it may have taken the argument: says so. */
function swallowed(command: CommandUnknownOpts): string | undefined {
  const option = command.options.find((option) =>
    option.variadic && command.getOptionValue(option.attributeName()) !== undefined
  );
  return option &&
    `${option.long} takes every word after it: name the ${command.registeredArguments[0].name()} ` +
      `before ${option.long}`;
}

function each(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const sub of command.commands) each(sub as Command, visit);
}

function beforeDashes(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}
