import type { Checkpoint } from "../lib/checkpoint/checkpoint.ts";
import { openCheckpoint } from "../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../lib/errors.ts";
import type { RowLayout } from "../lib/layout/layout.ts";
import { rowLayout } from "../lib/layout/row_layout.ts";
import { verifyOffload } from "../lib/offload/verify_offload.ts";
import { verifyShards } from "../lib/shards/verify_shards.ts";
import { type Check, done, type Mismatch, notChecked } from "../lib/verify/check.ts";
import type { Survey } from "../lib/verify/survey.ts";
import type { Context } from "./command.ts";

/** Compares the shards in a folder with the checkpoint, byte by byte. */
export function checkShards(
  found: Survey,
  { shards, partial }: {
    readonly shards?: string | undefined;
    readonly partial?: true | undefined;
  },
  context: Context,
): Promise<Check> {
  return check("shards", shards, found, context, (checkpoint, layout, folder, options) => {
    return verifyShards(checkpoint, layout, folder, { ...options, partial: partial ?? false });
  });
}

/** Compares the packed rows in a folder with the checkpoint, byte by byte. */
export function checkOffload(
  found: Survey,
  { offload }: { readonly offload?: string | undefined },
  context: Context,
): Promise<Check> {
  return check("offload", offload, found, context, verifyOffload);
}

type Verify = (
  checkpoint: Checkpoint,
  layout: RowLayout,
  folder: string,
  options: { signal: AbortSignal; onBytes(count: number): void },
) => Promise<{ detail: string; faults: readonly Omit<Mismatch, "check">[] }>;

async function check(
  name: "shards" | "offload",
  folder: string | undefined,
  { files, layout: found }: Survey,
  { signal, progress }: Context,
  verify: Verify,
): Promise<Check> {
  if (folder === undefined) return notChecked(name, `give --${name} DIR`);
  if (found === null) return notChecked(name, "there is no usable config to lay the rows out by");
  let checkpoint;
  try {
    checkpoint = await openCheckpoint(files.place);
  } catch (error) {
    // What is wrong with the checkpoint itself is among the other checks' findings.
    if (!(error instanceof EngramError)) throw error;
    return notChecked(name, `the checkpoint cannot be opened: ${error.message}`);
  }
  const total = checkpoint.layers.reduce((sum, { embed }) => {
    return sum + (embed?.weight.byteLength ?? 0) + (embed?.scale?.byteLength ?? 0);
  }, 0);
  const bar = progress(`comparing ${name}`, total, "bytes");
  try {
    const layout = rowLayout(checkpoint.config);
    const onBytes = (count: number) => bar.advance(count);
    const { detail, faults } = await verify(checkpoint, layout, folder, { signal, onBytes });
    return done(name, detail, faults);
  } finally {
    bar.stop();
    checkpoint.close();
  }
}
