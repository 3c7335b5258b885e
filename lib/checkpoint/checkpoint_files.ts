import { EngramError } from "../errors.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { engramName } from "./engram_tensors.ts";
import type { Folder } from "./folder.ts";
import type { Place } from "./place.ts";
import { readIndex, type TensorIndex } from "./tensor_index.ts";

/** A disagreement between an index and the files, or between files. */
export interface FileProblem {
  /** What it is, as a stable word. */
  readonly kind:
    | "missing_file"
    | "missing_tensor"
    | "wrong_file"
    | "unlisted_tensor"
    | "unlisted_file"
    | "duplicate_tensor"
    | "total_size";
  /** The tensor it is about, if it is about one. */
  readonly tensor: string | null;
  /** The file it is about. */
  readonly file: string;
  /** The whole of it in a sentence. */
  readonly message: string;
}

/** Key of the `__metadata__` by which a file says that it is one rank's shard, not a checkpoint's. */
export const SHARD_KEY = "engram.shard";

/** The open safetensors files of a checkpoint; only headers have been read. */
export interface CheckpointFiles {
  /** The path or URL that was given. */
  readonly place: string;
  /** The folder the files lie in. */
  readonly folder: Folder;
  /** Whether one file was given rather than a folder: it may hold a part of a model. */
  readonly single: boolean;
  /** Whether the files are shards of ranks: each holds its own part under the same names. */
  readonly shards: boolean;
  /** The open files by name. */
  readonly files: ReadonlyMap<string, SafetensorsFile>;
  /** All tensors by name. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The index, where there is one. */
  readonly index: TensorIndex | null;
  /** Name of the config in the folder, where there is one. */
  readonly configName: string | null;
  /** Path or URL of the tokenizer beside the files, where there is one. */
  readonly tokenizerPath: string | null;
  /** Where index and files disagree; empty without an index and without duplicates. */
  readonly problems: readonly FileProblem[];
  /** Closes all files. */
  close(): void;
}

/**
 * Opens the safetensors files of `place` and compares them with the index, both ways: all of them,
 * or those alone that hold an Engram layer by the index.
 */
export async function openCheckpointFiles(
  place: Place,
  which: "all" | "engram" = "all",
): Promise<CheckpointFiles> {
  const { folder } = place;
  const index = place.indexName === null ? null : await readIndex(folder, place.indexName);
  const problems: FileProblem[] = [];
  const left = new Set(index && which === "engram" ? filesWithoutEngram(index) : []);
  const names = index ? index.files.filter((name) => !left.has(name)) : place.fileNames;
  const files = await openFiles(folder, names, index !== null);
  const close = () => files.forEach((file) => file.close());
  try {
    const shards = [...files.values()].some(({ metadata }) => metadata.has(SHARD_KEY));
    const tensors = gather(files, index, shards, problems);
    if (index) compare(index, files, left, place.fileNames, problems);
    return {
      place: place.given,
      folder,
      single: place.single,
      shards,
      files,
      tensors,
      index,
      configName: place.configName,
      tokenizerPath: place.tokenizerName === null ? null : folder.path(place.tokenizerName),
      problems,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function filesWithoutEngram(index: TensorIndex): string[] {
  const holding = new Set<string>();
  for (const [tensor, file] of index.fileOf) if (engramName(tensor)) holding.add(file);
  return index.files.filter((file) => !holding.has(file));
}

/** Opens files by name, all at once: behind a URL each costs a round trip. */
async function openFiles(
  folder: Folder,
  names: readonly string[],
  mayLack: boolean,
): Promise<Map<string, SafetensorsFile>> {
  const files = new Map<string, SafetensorsFile>();
  const opened = await Promise.allSettled(names.map(async (name) => {
    if (mayLack && !(await folder.has(name))) return null;
    return await openSafetensors(await folder.open(name));
  }));
  opened.forEach((result, i) => {
    if (result.status === "fulfilled" && result.value) files.set(names[i], result.value);
  });
  const failed = opened.find((result) => result.status === "rejected");
  if (!failed) return files;
  files.forEach((file) => file.close());
  throw failed.reason;
}

/** All tensors by name; of two of the same name the one the index points at. */
function gather(
  files: ReadonlyMap<string, SafetensorsFile>,
  index: TensorIndex | null,
  shards: boolean,
  problems: FileProblem[],
): ReadonlyMap<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  const fileOf = new Map<string, string>();
  for (const [file, { tensors: own }] of files) {
    for (const [name, tensor] of own) {
      const before = fileOf.get(name);
      if (before !== undefined) {
        if (shards) continue;
        const message = `tensor ${quoted(name)} is in both \`${before}\` and \`${file}\``;
        problems.push({ kind: "duplicate_tensor", tensor: name, file, message });
        if (index?.fileOf.get(name) !== file) continue;
      }
      tensors.set(name, tensor);
      fileOf.set(name, file);
    }
  }
  return tensors;
}

function compare(
  index: TensorIndex,
  files: ReadonlyMap<string, SafetensorsFile>,
  left: ReadonlySet<string>,
  present: readonly string[],
  problems: FileProblem[],
): void {
  const holders = new Map<string, string>();
  for (const [file, { tensors }] of files) {
    for (const name of tensors.keys()) {
      if (!holders.has(name) || index.fileOf.get(name) === file) holders.set(name, file);
    }
  }
  const lacking = new Set<string>();
  for (const [tensor, file] of index.fileOf) {
    if (left.has(file)) continue;
    const opened = files.get(file);
    if (!opened && !lacking.has(file)) {
      lacking.add(file);
      const message = `file \`${file}\` is listed in the index but not there ` +
        `(it should hold tensor ${quoted(tensor)})`;
      problems.push({ kind: "missing_file", tensor: null, file, message });
    }
    const holder = holders.get(tensor);
    if (opened ? !opened.tensors.has(tensor) : holder !== undefined) {
      const message = `tensor ${quoted(tensor)} is listed in file \`${file}\` ` +
        (holder === undefined ? "but no file holds it" : `but is in \`${holder}\``);
      const kind = holder === undefined ? "missing_tensor" : "wrong_file";
      problems.push({ kind, tensor, file, message });
    }
  }
  for (const [file, { tensors }] of files) {
    for (const tensor of tensors.keys()) {
      if (index.fileOf.has(tensor)) continue;
      const message = `tensor ${quoted(tensor)} is in \`${file}\` but not listed in the index`;
      problems.push({ kind: "unlisted_tensor", tensor, file, message });
    }
  }
  for (const file of present) {
    if (files.has(file) || left.has(file)) continue;
    const message = `file \`${file}\` is there but not listed in the index`;
    problems.push({ kind: "unlisted_file", tensor: null, file, message });
  }
  checkTotal(index, files, lacking.size + left.size, problems);
}

/** The index's total counts tensor bytes; some writers count whole files, so both are taken. */
function checkTotal(
  index: TensorIndex,
  files: ReadonlyMap<string, SafetensorsFile>,
  lacking: number,
  problems: FileProblem[],
): void {
  if (index.totalSize === null || lacking > 0) return;
  const whole = [...files.values()].reduce((sum, file) => sum + file.source.size, 0);
  const headers = [...files.values()].reduce((sum, file) => sum + file.headerBytes, 0);
  if (index.totalSize === whole - headers || index.totalSize === whole) return;
  const message = `the index says total_size ${index.totalSize}, ` +
    `but the files hold ${whole - headers} bytes of tensors`;
  problems.push({ kind: "total_size", tensor: null, file: index.name, message });
}

function quoted(name: string): string {
  return JSON.stringify(name);
}

/** An error for `problem`. */
export function problemError(files: CheckpointFiles, problem: FileProblem): EngramError {
  const where = files.folder.path(problem.file);
  const kind = problem.kind === "missing_file" ? "unavailable" : "malformed";
  return new EngramError(kind, `Cannot open \`${files.place}\`: ${problem.message}`, {
    where,
    hint: `Fetch the files anew, or see all that is wrong with \`engram verify ${files.place}\``,
  });
}

/** The problems in sentences; files that were not fetched, often dozens, are one. */
export function problemLines(problems: readonly FileProblem[]): string[] {
  const missing = problems.filter(({ kind }) => kind === "missing_file");
  if (missing.length < 2) return problems.map(({ message }) => message);
  const others = problems.filter(({ kind }) => kind !== "missing_file");
  const line = `${missing.length} files listed in the index are not there, ` +
    `\`${missing[0].file}\` to \`${missing[missing.length - 1].file}\``;
  return [line, ...others.map(({ message }) => message)];
}
