import { run } from "../cli/run.ts";

/** What one command line printed, and its exit code. */
export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** stdout as JSON. */
  // deno-lint-ignore no-explicit-any -- tests look into it freely
  json(): any;
}

/** Runs a command line in this process, off a terminal. */
export async function cli(...args: string[]): Promise<CliResult> {
  let out = "";
  let err = "";
  const code = await run(args, {
    out: (text) => out += text,
    err: (text) => err += text,
    terminal: false,
    outTerminal: false,
  });
  return { code, out, err, json: () => JSON.parse(out) };
}
