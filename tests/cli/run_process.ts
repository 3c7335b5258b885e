import { fileURLToPath } from "node:url";

/** What a command line printed as a process of its own, and its exit code. */
export interface ProcessResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** Runs a command line as a process of its own, with `input` on its standard input. */
export async function process(args: readonly string[], input?: string): Promise<ProcessResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", MAIN, ...args],
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}
