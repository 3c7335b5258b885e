import { z } from "zod";
import { EngramError } from "../../lib/errors.ts";
import type { BenchRecord } from "./record.ts";

const SAMPLES = z.array(z.number().positive());

/** Only what a comparison reads is demanded, so that later versions can add to records. */
const RECORD = z.looseObject({
  format: z.literal(1),
  results: z.array(
    z.looseObject({
      name: z.string(),
      variant: z.string(),
      parameters: z.record(z.string(), z.union([z.string(), z.number()])),
      samples: SAMPLES,
      gpuSamples: SAMPLES.min(1).nullable(),
    }).refine(
      (result) => result.samples.length > 0 || result.gpuSamples !== null,
      "wanted at least one sample",
    ),
  ),
});

/** Reads a record written with `--format json`. */
export function readRecord(path: string): BenchRecord {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (cause) {
    throw new EngramError("unavailable", `Cannot open record \`${path}\``, { where: path, cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new EngramError("malformed", `Cannot read record \`${path}\`: it is not JSON`, {
      where: path,
      cause,
    });
  }
  const parsed = RECORD.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new EngramError(
      "malformed",
      `Cannot read record \`${path}\`: ${issue.path.join(".") || "the whole"}: ${issue.message}`,
      { where: path, hint: "Records are written by `engram bench … --format json --out FILE`" },
    );
  }
  return value as BenchRecord;
}
