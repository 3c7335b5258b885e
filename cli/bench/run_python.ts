import { join } from "node:path";
import type { BenchRequest } from "./request.ts";

/**
 * Runs a Python script that is given the path of `spec` as JSON and prints seconds as a JSON array;
 * null, with a note, where Python or a module it needs is missing.
 */
export async function runPython(
  script: string,
  spec: Record<string, unknown>,
  request: BenchRequest,
): Promise<number[] | null> {
  const path = join(request.scratch, "spec.json");
  const { warmup, samples } = request.sampling;
  Deno.writeTextFileSync(path, JSON.stringify({ ...spec, warmup, samples }));
  try {
    const { success, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-c", script, path],
      signal: request.sampling.signal,
    }).output();
    if (success) return JSON.parse(new TextDecoder().decode(stdout)) as number[];
    const reason = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
    request.note(`numpy: left out, ${reason}`);
  } catch (error) {
    request.note(`numpy: left out, ${(error as Error).message}`);
  }
  return null;
}
