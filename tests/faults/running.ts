import { fileURLToPath } from "node:url";
import { join } from "node:path";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** Starts a command line as a process of its own, with the given permissions. */
export function start(args: readonly string[], permissions: readonly string[] = ["-A"]) {
  return spawn([
    Deno.execPath(),
    "run",
    "--no-check",
    "--no-prompt",
    ...permissions,
    MAIN,
    ...args,
  ]);
}

/** The same, slowed down a little: a test that watches it must not be the one that waits. */
export function startSlowly(args: readonly string[]) {
  return spawn(["nice", "-n", "4", Deno.execPath(), "run", "-A", "--no-check", MAIN, ...args]);
}

function spawn([program, ...args]: readonly string[]) {
  return new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Ends a process with `signal` once it has written `bytes` bytes into `folder`; its status. */
export async function stopAt(
  child: Deno.ChildProcess,
  folder: string,
  bytes: number,
  signal: Deno.Signal,
): Promise<Deno.CommandOutput> {
  let ended = false;
  const output = child.output().finally(() => ended = true);
  while (!ended && bytesIn(folder) <= bytes) await new Promise((resume) => setTimeout(resume, 1));
  try {
    child.kill(signal);
  } catch {
    // It ended by itself.
  }
  return await output;
}

/** Bytes of all files in `folder`, unfinished ones too; -1 before it is there. */
export function bytesIn(folder: string): number {
  try {
    let bytes = 0;
    for (const { name } of Deno.readDirSync(folder)) {
      bytes += Deno.statSync(join(folder, name)).size;
    }
    return bytes;
  } catch (error) {
    // A file was renamed between listing and looking, or there is no folder yet.
    if (error instanceof Deno.errors.NotFound) return -1;
    throw error;
  }
}

/** All files of a folder. */
export function filesIn(folder: string): Map<string, Uint8Array> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  return new Map(names.map((name) => [name, Deno.readFileSync(join(folder, name))]));
}
