/** The command line's entry and its only exit. */
import { run } from "./run.ts";
import { EXIT_CODES } from "./failure.ts";

const encoder = new TextEncoder();

/** Writes whole text at once; a closed pipe (`| head`) ends the program quietly. */
function writer(stream: typeof Deno.stdout): (text: string) => void {
  return (text) => {
    const data = encoder.encode(text);
    try {
      for (let at = 0; at < data.length;) at += stream.writeSync(data.subarray(at));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) Deno.exit(EXIT_CODES.ok);
      throw error;
    }
  };
}

if (import.meta.main) {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    // The second signal does not wait for a clean end.
    Deno.addSignalListener(name, () => {
      if (stop.signal.aborted) Deno.exit(EXIT_CODES.interrupted);
      stop.abort();
    });
  }
  Deno.exit(
    await run(Deno.args, {
      out: writer(Deno.stdout),
      err: writer(Deno.stderr),
      terminal: Deno.stderr.isTerminal(),
      outTerminal: Deno.stdout.isTerminal(),
    }, stop.signal),
  );
}
