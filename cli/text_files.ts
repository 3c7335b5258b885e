import { join } from "node:path";
import { EngramError } from "../lib/errors.ts";

/** One text to be tokenized by itself. */
export interface TextFile {
  /** Path, or `standard input`. */
  readonly name: string;
  /** Size in bytes; null for standard input and pipes. */
  readonly size: number | null;
  /** Begins reading it. */
  open(): AsyncIterable<Uint8Array>;
}

/** Bytes of a read: some pieces for the tokenizer, and nothing to a machine's memory. */
const CHUNK = 2 ** 20;

/**
 * The texts that paths stand for, in the order given: a file, `-` for standard input (once), or a
 * folder, whose files come in the order of their paths, subfolders included; entries whose name
 * begins with a dot are left out.
 */
export async function textFiles(paths: readonly string[]): Promise<TextFile[]> {
  if (paths.filter((path) => path === "-").length > 1) {
    throw new EngramError("usage", "Cannot read standard input twice: found `-` more than once");
  }
  const files: TextFile[] = [];
  for (const path of paths) {
    if (path === "-") {
      files.push({ name: "standard input", size: null, open: () => Deno.stdin.readable });
      continue;
    }
    const info = await statOf(path);
    if (!info.isDirectory) {
      files.push(textFile(path, info));
      continue;
    }
    const found = await filesBelow(path);
    if (found.length === 0) {
      throw new EngramError("unavailable", `Cannot read texts: folder \`${path}\` holds no files`, {
        where: path,
      });
    }
    for (const file of found) files.push(textFile(file, await statOf(file)));
  }
  return files;
}

async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  // Code-unit order: the same on every system and in every locale.
  const entries = (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name)
    .filter((name) => !name.startsWith(".")).sort();
  for (const name of entries) {
    const path = join(folder, name);
    // A link to a file counts; one to a folder could lead round in a circle.
    const info = await statOf(path);
    if (info.isFile) found.push(path);
    else if (info.isDirectory && !(await Deno.lstat(path)).isSymlink) {
      found.push(...(await filesBelow(path)));
    }
  }
  return found;
}

async function statOf(path: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(path);
  } catch (cause) {
    throw new EngramError("unavailable", `Cannot read text \`${path}\`: ${whyNot(cause)}`, {
      where: path,
      cause,
    });
  }
}

function textFile(name: string, info: Deno.FileInfo): TextFile {
  return { name, size: info.isFile ? info.size : null, open: () => readChunks(name) };
}

async function* readChunks(name: string): AsyncGenerator<Uint8Array> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(name, { read: true });
  } catch (cause) {
    throw new EngramError("unavailable", `Cannot read text \`${name}\`: ${whyNot(cause)}`, {
      where: name,
      cause,
    });
  }
  try {
    for (;;) {
      // A fresh buffer each time: the decoder may still hold the one before.
      const buffer = new Uint8Array(CHUNK);
      const count = await file.read(buffer);
      if (count === null) return;
      yield buffer.subarray(0, count);
    }
  } finally {
    file.close();
  }
}

function whyNot(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file or folder";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return error instanceof Error ? error.message : String(error);
}
