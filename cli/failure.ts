import { EngramError, type ErrorKind } from "../lib/errors.ts";
import { printableLines, type Printer, toJson } from "./printer.ts";

/** Exit code of each kind of failure; part of the tool's promise, never renumbered. */
export const EXIT_CODES: Readonly<Record<ErrorKind | "ok" | "internal", number>> = {
  ok: 0,
  internal: 1,
  usage: 2,
  malformed: 3,
  unavailable: 4,
  mismatch: 5,
  no_gpu: 6,
  interrupted: 130,
};

/** Thrown by a command that has printed its own findings and only wants to end with a code. */
export class ExitWith extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

/** Prints `error` as text or, with --json, as the last line of stderr; returns the exit code. */
export function reportFailure(printer: Printer, error: unknown): number {
  if (error instanceof ExitWith) return error.code;
  const failure = asEngramError(error);
  const code = failure ? EXIT_CODES[failure.kind] : EXIT_CODES.internal;
  if (printer.json) {
    const body = {
      code,
      message: failure?.message ?? `Internal error: ${messageOf(error)}`,
      where: failure?.where ?? null,
      hint: failure?.hint ?? (failure ? null : INTERNAL_HINT),
    };
    printer.err(toJson({ error: body }) + "\n");
    return code;
  }
  const causes = causesOf(failure ?? error);
  const hint = failure ? failure.hint : INTERNAL_HINT;
  const lines = [failure?.message ?? `Internal error: ${messageOf(error)}`];
  for (const cause of causes) lines.push(`  Caused by: ${cause}`);
  if (hint) lines.push("", `hint: ${hint}`);
  // Names from files stand in messages: they must not be able to move the cursor.
  printer.err(`${printer.red("error:")} ${printableLines(lines.join("\n"))}\n`);
  return code;
}

const INTERNAL_HINT =
  "This is a bug in engram. Run again with ENGRAM_DEBUG=1 to see where it arose, and report it";

/** The runtime's own errors that are really about the user's files and permissions. */
function asEngramError(error: unknown): EngramError | undefined {
  if (error instanceof EngramError) return error;
  if (error instanceof Deno.errors.NotCapable) {
    return new EngramError("unavailable", `Cannot go on: ${firstLine(error.message)}`, {
      hint: "Grant the permission it names, or run with `-A`",
    });
  }
  if (error instanceof Deno.errors.NotFound) {
    return new EngramError("unavailable", `Cannot find: ${firstLine(error.message)}`);
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return new EngramError("unavailable", `Cannot open: ${firstLine(error.message)}`);
  }
  if (error instanceof Error && /ENOSPC|os error 28/.test(error.message)) {
    return new EngramError("unavailable", `Cannot write: ${firstLine(error.message)}`, {
      hint: "The disk is full; free some space and run the same command again",
    });
  }
  if (
    error instanceof RangeError &&
    /Array buffer allocation|Invalid array length/.test(error.message)
  ) {
    return new EngramError("unavailable", `Cannot go on: out of memory (${error.message})`);
  }
  return undefined;
}

function causesOf(error: unknown): string[] {
  const causes: string[] = [];
  let cause = error instanceof Error ? error.cause : undefined;
  while (cause !== undefined && causes.length < 5) {
    causes.push(firstLine(messageOf(cause)));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0];
}
