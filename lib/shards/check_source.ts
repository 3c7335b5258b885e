import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { ShardSet } from "./shard_set.ts";
import { sourceIdentities } from "./source_identity.ts";

/**
 * Refuses rows that were written from another checkpoint than `checkpoint`, by the sizes and headers
 * of its files, whatever they are called now. A checkpoint without tensors has nothing to compare.
 *
 * @param source The files the rows say they come from.
 * @param folder Where the rows are, for messages.
 * @throws an {@linkcode EngramError} of kind `mismatch`.
 */
export async function checkSource(
  checkpoint: Checkpoint,
  source: ShardSet["source"],
  folder: string,
): Promise<void> {
  if (!checkpoint.layers.every(({ embed, wkv }) => embed && wkv)) return;
  const key = (size: number, digest: string) => `${size} ${digest}`;
  const ours = (await sourceIdentities(checkpoint)).map((file) =>
    key(file.size, file.headerSha256)
  );
  const theirs = source.map((file) => key(file.size, file.header_sha256));
  if (ours.sort().join() === theirs.sort().join()) return;
  throw new EngramError(
    "mismatch",
    `Cannot read tables from \`${folder}\`: it was written from another checkpoint than that of ` +
      `\`${checkpoint.config.where}\`: ` +
      source.map(({ file, size }) => `${file} (${size} bytes)`).join(", "),
    {
      where: folder,
      hint: "Name the checkpoint it was written from, or write it anew from this one",
    },
  );
}
