import { EngramError } from "../errors.ts";
import type { Folder } from "./folder.ts";
import type { Place } from "./place.ts";

/** The index's usual name. */
const INDEX = "model.safetensors.index.json";

/**
 * Looks at a folder: which safetensors files, index, config and tokenizer are there.
 * A place that cannot be listed (a plain web server) must have an index or `model.safetensors`.
 *
 * @throws an {@linkcode EngramError} when there is neither a safetensors file nor a config.
 */
export async function findPlace(given: string, folder: Folder): Promise<Place> {
  const names = await folder.list() ?? await probe(folder);
  const fileNames = names.filter((name) => name.endsWith(".safetensors"));
  const configName = names.includes("config.json") ? "config.json" : null;
  if (fileNames.length === 0 && configName === null && !names.includes(INDEX)) {
    throw new EngramError(
      "unavailable",
      `Cannot open checkpoint \`${given}\`: found neither a .safetensors file nor a config.json in it`,
      { where: given, hint: "Give the folder that holds the model's files, or one file" },
    );
  }
  return {
    given,
    folder,
    single: false,
    fileNames,
    indexName: indexOf(given, names),
    configName,
    tokenizerName: tokenizerOf(names),
  };
}

/** One file of a folder: a safetensors file, an index or a config. */
export async function findFilePlace(given: string, folder: Folder, name: string): Promise<Place> {
  const names = await folder.list() ?? await probe(folder);
  const common = {
    given,
    folder,
    configName: names.includes("config.json") ? "config.json" : null,
    tokenizerName: tokenizerOf(names),
  };
  if (name.endsWith(".index.json")) {
    const fileNames = names.filter((name) => name.endsWith(".safetensors"));
    return { ...common, single: false, fileNames, indexName: name };
  }
  if (name.endsWith(".json")) {
    return { ...common, single: false, fileNames: [], indexName: null, configName: name };
  }
  return { ...common, single: true, fileNames: [name], indexName: null };
}

function indexOf(given: string, names: readonly string[]): string | null {
  const found = names.filter((name) => name.endsWith(".safetensors.index.json"));
  if (found.includes(INDEX)) return INDEX;
  if (found.length <= 1) return found[0] ?? null;
  throw new EngramError(
    "malformed",
    `Cannot open checkpoint \`${given}\`: found ${found.length} index files ` +
      `(${found.slice(0, 3).join(", ")}), wanted one`,
    { where: given, hint: `Give one of them, for instance ${found[0]}` },
  );
}

function tokenizerOf(names: readonly string[]): string | null {
  return names.includes("tokenizer.json") ? "tokenizer.json" : null;
}

async function probe(folder: Folder): Promise<readonly string[]> {
  const names = [INDEX, "config.json", "model.safetensors", "tokenizer.json"];
  const there = await Promise.all(names.map((name) => folder.has(name)));
  return names.filter((_, i) => there[i]);
}
