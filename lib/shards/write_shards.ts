import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkFreeSpace } from "../bytes/free_space.ts";
import { makeFolder } from "../bytes/make_folder.ts";
import { EngramError } from "../errors.ts";
import { SafetensorsWriter } from "../safetensors/safetensors_writer.ts";
import { compareShard } from "./compare_shard.ts";
import type { CompareOptions } from "./open_compared.ts";
import type { ShardPlan } from "./shard_plan.ts";

/** How {@linkcode writeShards} writes; what is there already is compared instead, and stays. */
export interface WriteShardsOptions extends CompareOptions {
  /** Replace shards that differ. */
  force?: boolean;
}

/** What became of one shard. */
export interface WrittenShard {
  /** The shard's number. */
  readonly rank: number;
  /** Its path. */
  readonly path: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** `verified`: it was there already, and every byte of it is right. */
  readonly state: "written" | "verified";
}

/**
 * Writes shards into `folder`, made where it is not there. Each file appears whole or not at all, so
 * that a run that was cut short is finished by the same run again: what is there and right is kept.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where a shard is there that differs,
 * without `force`; where there is too little space for all that is to be written.
 */
export async function writeShards(
  plans: readonly ShardPlan[],
  folder: string,
  options: WriteShardsOptions = {},
): Promise<WrittenShard[]> {
  makeFolder(folder);
  const missing = new Set(plans.filter(({ name }) => !existsSync(join(folder, name))));
  checkFreeSpace(folder, [...missing].reduce((sum, { file }) => sum + file.size, 0));
  const written: WrittenShard[] = [];
  // While one shard goes to the disk, the next is copied.
  let finishing: Promise<void> = Promise.resolve();
  try {
    for (const plan of plans) {
      const path = join(folder, plan.name);
      const right = !missing.has(plan) && await isRight(path, plan, options);
      if (!right) {
        const writer = await write(path, plan, options);
        const before = finishing;
        finishing = before.then(() => finish(writer), () => writer.abort());
        await before;
      }
      const state = right ? "verified" : "written";
      written.push({ rank: plan.rank, path, bytes: plan.file.size, state });
    }
  } finally {
    await finishing;
  }
  return written;
}

async function finish(writer: SafetensorsWriter): Promise<void> {
  try {
    await writer.flush();
    writer.commit();
  } finally {
    writer.abort();
  }
}

async function isRight(
  path: string,
  plan: ShardPlan,
  { force, ...options }: WriteShardsOptions,
): Promise<boolean> {
  const [fault] = await compareShard(path, plan, options);
  if (!fault || force) return !fault;
  throw new EngramError(
    "unavailable",
    `Cannot write \`${path}\`: another file is there: ${fault.message}`,
    { where: path, hint: "Add `--force` to replace it, or choose another folder" },
  );
}

/** Writes all but the name. */
async function write(
  path: string,
  { tensors, metadata }: ShardPlan,
  { force, signal, onBytes }: WriteShardsOptions,
): Promise<SafetensorsWriter> {
  const writer = SafetensorsWriter.create(path, tensors, { metadata, force: force ?? false });
  try {
    for (const { name, pieces } of tensors) {
      for (const { tensor, begin, end } of pieces) {
        await writer.appendFrom(name, tensor, {
          begin,
          end,
          ...(signal && { signal }),
          ...(onBytes && { onBytes }),
        });
      }
    }
    return writer;
  } catch (error) {
    writer.abort();
    throw error;
  }
}
