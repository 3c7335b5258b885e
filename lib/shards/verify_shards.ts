import { join } from "node:path";
import { openFile } from "../bytes/file_source.ts";
import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { openSafetensors } from "../safetensors/safetensors_file.ts";
import { compareShard, type ShardFault } from "./compare_shard.ts";
import type { CompareOptions } from "./open_compared.ts";
import { type ShardFile, shardFiles } from "./shard_files.ts";
import { readManifest, type ShardManifest } from "./shard_manifest.ts";
import { planShards } from "./shard_plan.ts";
import { sourceIdentities } from "./source_identity.ts";

/** What comparing a folder of shards with their checkpoint found. */
export interface ShardsReport {
  /** What was compared, in a sentence. */
  readonly detail: string;
  /** Bytes compared. */
  readonly bytes: number;
  /** All that is wrong, each with the shard's path. */
  readonly faults: readonly (ShardFault & { readonly file: string })[];
}

/** How {@linkcode verifyShards} works. */
export interface VerifyShardsOptions extends CompareOptions {
  /** Ranks may be missing: only those that are there are compared. */
  partial?: boolean;
}

/**
 * Compares every shard in `folder` with the checkpoint byte by byte, and all of them together with
 * the tables: each row of each layer in exactly one shard.
 *
 * @throws an {@linkcode EngramError} where `folder` cannot be read or holds no shards.
 */
export async function verifyShards(
  checkpoint: Checkpoint,
  layout: RowLayout,
  folder: string,
  { partial, ...options }: VerifyShardsOptions = {},
): Promise<ShardsReport> {
  const found = shardFiles(folder);
  const isOwn = ({ ranks }: ShardFile) => ranks === found.shards[0].ranks;
  const shards = found.shards.filter(isOwn);
  const foreign = [
    ...found.shards.filter((shard) => !isOwn(shard)).map(({ name }) => name),
    ...found.others,
  ];
  const faults: (ShardFault & { file: string })[] = foreign.map((name) => ({
    tensor: null,
    file: join(folder, name),
    message: `\`${name}\` is no shard of this set`,
  }));
  const names = new Set(shards.map(({ name }) => name));
  const manifest = await firstManifest(folder, shards);
  const { tp, dp, split } = manifest;
  const plans = planShards(
    checkpoint,
    layout,
    { tp, dp, split },
    await sourceIdentities(checkpoint),
  );
  let bytes = 0;
  const counting: CompareOptions = {
    ...options,
    onBytes: (count) => {
      bytes += count;
      options.onBytes?.(count);
    },
  };
  let present = 0;
  for (const plan of plans) {
    const file = join(folder, plan.name);
    if (!names.has(plan.name)) {
      const message = `\`${plan.name}\` is missing: ${rowsOf(plan.spans)} rows are in no shard`;
      if (!partial) faults.push({ tensor: null, file, message });
      continue;
    }
    present++;
    faults.push(...(await compareShard(file, plan, counting)).map((fault) => ({ ...fault, file })));
  }
  const detail = `${present} of ${plans.length} shards (split by ${split}, tp ${tp}, dp ${dp}), ` +
    `${bytes} bytes compared with the checkpoint's`;
  return { detail, bytes, faults };
}

function rowsOf(spans: readonly { rows: number }[]): number {
  return spans.reduce((sum, { rows }) => sum + rows, 0);
}

/** The split as the first readable shard states it; the others are then held against it. */
async function firstManifest(folder: string, shards: readonly ShardFile[]): Promise<ShardManifest> {
  for (const { name, ranks } of shards) {
    try {
      const file = await openSafetensors(openFile(join(folder, name)));
      file.close();
      const manifest = readManifest(file.metadata);
      if (manifest && manifest.tp * manifest.dp === ranks) return manifest;
    } catch (error) {
      // A broken shard is reported by its comparison; the split may be read from another.
      if (!(error instanceof EngramError)) throw error;
    }
  }
  throw new EngramError(
    "malformed",
    `Cannot verify shards in \`${folder}\`: none says how it was split (metadata engram.shard)`,
    {
      where: join(folder, shards[0].name),
      hint: "Only shards that `engram shard` wrote can be verified",
    },
  );
}
