import { readdirSync } from "node:fs";
import { fileError } from "../bytes/file_error.ts";
import { EngramError } from "../errors.ts";
import { parseShardName, shardName } from "./shard_name.ts";

/** A shard in a folder, as its name says. */
export interface ShardFile {
  /** The file's name. */
  readonly name: string;
  /** The shard's number. */
  readonly rank: number;
  /** Into how many the tables are split. */
  readonly ranks: number;
}

/**
 * The shards in a folder and the other safetensors files there, each in the order of their names.
 *
 * @throws an {@linkcode EngramError} where the folder cannot be read or holds no shards.
 */
export function shardFiles(folder: string): { shards: ShardFile[]; others: string[] } {
  const shards: ShardFile[] = [];
  const others: string[] = [];
  for (const name of safetensorsNames(folder)) {
    const parsed = parseShardName(name);
    if (parsed) shards.push({ name, ...parsed });
    else others.push(name);
  }
  if (shards.length > 0) return { shards, others };
  throw new EngramError(
    "unavailable",
    `Cannot use shards in \`${folder}\`: found none, wanted files like ${shardName(0, 4)}`,
    { where: folder, hint: "Make them with `engram shard CHECKPOINT --tp N --out DIR`" },
  );
}

function safetensorsNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".safetensors")).sort();
  } catch (error) {
    throw fileError("open", folder, error);
  }
}
