import { openCheckpoint } from "../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../lib/errors.ts";
import { buildLayout } from "../lib/layout/build_layout.ts";
import { verifyShards } from "../lib/shards/verify_shards.ts";
import { type Check, done, notChecked } from "../lib/verify/check.ts";
import type { Survey } from "../lib/verify/survey.ts";
import type { Context } from "./command.ts";

/** Compares the shards in a folder with the checkpoint, byte by byte. */
export async function checkShards(
  location: string,
  found: Survey,
  options: { readonly shards?: string | undefined; readonly partial?: true | undefined },
  { signal, progress }: Context,
): Promise<Check> {
  if (options.shards === undefined) return notChecked("shards", "give --shards DIR");
  if (found.layout === null) {
    return notChecked("shards", "there is no usable config to lay the rows out by");
  }
  let checkpoint;
  try {
    checkpoint = await openCheckpoint(location);
  } catch (error) {
    // What is wrong with the checkpoint itself is among the other checks' findings.
    if (!(error instanceof EngramError)) throw error;
    return notChecked("shards", `the checkpoint cannot be opened: ${error.message}`);
  }
  const total = checkpoint.layers.reduce((sum, { embed }) => {
    return sum + (embed?.weight.byteLength ?? 0) + (embed?.scale?.byteLength ?? 0);
  }, 0);
  const bar = progress("comparing shards", total, "bytes");
  try {
    const layout = buildLayout(checkpoint.config, checkpoint.config.compressedVocabSize ?? 1);
    const { detail, faults } = await verifyShards(checkpoint, layout, options.shards, {
      signal,
      partial: options.partial ?? false,
      onBytes: (count) => bar.advance(count),
    });
    return done("shards", detail, faults);
  } finally {
    bar.stop();
    checkpoint.close();
  }
}
