import { EngramError } from "../errors.ts";
import { MAX_INDEX_BYTES } from "./config_limits.ts";
import type { Folder } from "./folder.ts";
import { readJson } from "./read_json.ts";

/** What a `*.safetensors.index.json` says: which file each tensor is in. */
export interface TensorIndex {
  /** The index file's name in its folder. */
  readonly name: string;
  /** Path or URL of the index file, for messages. */
  readonly where: string;
  /** File name by tensor name. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** The files named, sorted. */
  readonly files: readonly string[];
  /** `metadata.total_size`, where it says so. */
  readonly totalSize: number | null;
}

/**
 * Reads an index and refuses one that leads outside its folder.
 *
 * @throws an {@linkcode EngramError} of kind `malformed`.
 */
export async function readIndex(folder: Folder, name: string): Promise<TensorIndex> {
  const where = folder.path(name);
  const json = await readJson(folder, name, MAX_INDEX_BYTES);
  const map = member(json, "weight_map");
  if (!isObject(map)) {
    throw new EngramError(
      "malformed",
      `Cannot read index \`${where}\`: found no object "weight_map", wanted one`,
      { where },
    );
  }
  const fileOf = new Map<string, string>();
  const good = new Set<unknown>();
  for (const tensor of Object.keys(map)) {
    const file = (map as Record<string, unknown>)[tensor];
    const reason = good.has(file) ? undefined : badFileName(file);
    if (reason === undefined) good.add(file);
    else {
      throw new EngramError(
        "malformed",
        `Cannot use index \`${where}\`: it puts tensor ${JSON.stringify(tensor)} in ` +
          `${
            typeof file === "string" ? JSON.stringify(file) : `a value of type ${typeof file}`
          }, ` +
          `${reason}; wanted a safetensors file in the index's own folder`,
        { where, hint: "Do not use a checkpoint whose index leads elsewhere; fetch it anew" },
      );
    }
    fileOf.set(tensor, file as string);
  }
  const files = ([...good] as string[]).sort();
  await refuseLinksOut(folder, where, files);
  const total = member(member(json, "metadata"), "total_size");
  const totalSize = typeof total === "number" && Number.isSafeInteger(total) ? total : null;
  return { name, where, fileOf, files, totalSize };
}

/** Why `file` cannot be the name of a file inside the folder; undefined when it can. */
function badFileName(file: unknown): string | undefined {
  if (typeof file !== "string") return "which is not a string";
  if (file === "") return "which is empty";
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  if (/[\x00-\x1f]/.test(file)) return "which holds a control character";
  if (file.startsWith("/") || /^[A-Za-z][A-Za-z0-9+.-]*:/.test(file)) return "an absolute path";
  if (file.includes("\\")) return "which holds a backslash";
  const parts = file.split("/");
  if (parts.includes("..")) return "outside its folder";
  if (parts.includes("") || parts.includes(".")) return "which is no plain path";
  if (!file.endsWith(".safetensors")) return "which is no .safetensors file";
  return undefined;
}

async function refuseLinksOut(
  folder: Folder,
  where: string,
  files: readonly string[],
): Promise<void> {
  for (const file of files) {
    const target = await folder.outside(file);
    if (target === null) continue;
    throw new EngramError(
      "malformed",
      `Cannot use index \`${where}\`: its file \`${file}\` is a link to \`${target}\`, ` +
        "outside its folder and its cache",
      { where, hint: "Put the file itself into the folder, or open it directly" },
    );
  }
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
