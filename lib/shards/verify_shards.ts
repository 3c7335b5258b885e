import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { openFile } from "../bytes/file_source.ts";
import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { openSafetensors } from "../safetensors/safetensors_file.ts";
import { type CompareOptions, compareShard, type ShardFault } from "./compare_shard.ts";
import { readManifest, type ShardManifest } from "./shard_manifest.ts";
import { parseShardName, shardName } from "./shard_name.ts";
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
  const { shards, foreign } = listShards(folder);
  const faults: (ShardFault & { file: string })[] = foreign.map((name) => ({
    tensor: null,
    file: join(folder, name),
    message: `\`${name}\` is no shard of this set`,
  }));
  const manifest = await firstManifest(folder, shards.map(({ name }) => name));
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
    if (!shards.some(({ name }) => name === plan.name)) {
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

interface Shard {
  readonly name: string;
  readonly ranks: number;
}

/** The shards of a folder, and the safetensors files there that are none or of another set. */
function listShards(folder: string): { shards: Shard[]; foreign: string[] } {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".safetensors")).sort();
  } catch (error) {
    throw fileError("open", folder, error);
  }
  const parsed = names.map((name) => ({ name, ranks: parseShardName(name)?.ranks ?? 0 }));
  const ranks = parsed.find((shard) => shard.ranks > 0)?.ranks;
  if (ranks === undefined) {
    throw new EngramError(
      "unavailable",
      `Cannot verify shards in \`${folder}\`: found none, wanted files like ${shardName(0, 4)}`,
      { where: folder, hint: "Make them with `engram shard CHECKPOINT --tp N --out DIR`" },
    );
  }
  const isOwn = (shard: Shard) => shard.ranks === ranks;
  return {
    shards: parsed.filter(isOwn),
    foreign: parsed.filter((shard) => !isOwn(shard)).map(({ name }) => name),
  };
}

/** The split as the first readable shard states it; the others are then held against it. */
async function firstManifest(folder: string, names: readonly string[]): Promise<ShardManifest> {
  for (const name of names) {
    try {
      const file = await openSafetensors(openFile(join(folder, name)));
      file.close();
      const manifest = readManifest(file.metadata);
      const ranks = parseShardName(name)!.ranks;
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
      where: join(folder, names[0]),
      hint: "Only shards that `engram shard` wrote can be verified",
    },
  );
}
