import * as fs from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { EngramError } from "../lib/errors.ts";

/** Options that name one file to write. */
const OUTPUTS = ["out", "html", "svg"];

/** Options that name files or folders to read. */
const INPUTS = [
  "checkpoint",
  "hidden",
  "ids",
  "map",
  "offload",
  "rows",
  "shards",
  "text",
  "tokenizer",
];

/**
 * Refuses to replace a file that the same command reads, which `--force` would otherwise do: a
 * named input, or a file of an input folder.
 *
 * @throws an {@linkcode EngramError} of kind `usage` that names the output and the input.
 */
export function keepInputs(
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): void {
  for (const name of OUTPUTS) {
    const output = options[name];
    if (typeof output !== "string" || !statOf(output)?.isFile()) continue;
    const named = INPUTS.flatMap((option) =>
      pathsOf(options[option]).map((path) => ({ option, path }))
    );
    for (
      const { option, path } of [...pathsOf(args).map((path) => ({ option: "", path })), ...named]
    ) {
      if (!isRead(output, option, path)) continue;
      throw new EngramError(
        "usage",
        `Cannot write to \`${output}\`: it is, or belongs to, the input \`${path}\``,
        { where: output, hint: "Choose another name: `--force` never replaces what is read" },
      );
    }
  }
}

function pathsOf(value: unknown): string[] {
  return [value].flat(2).filter((item) => typeof item === "string");
}

/** Whether `output`, which exists, is the input at `path` or a file of that folder. */
function isRead(output: string, option: string, path: string): boolean {
  const input = statOf(path);
  const found = statOf(output);
  if (!input || !found) return false;
  if (!input.isDirectory()) return input.dev === found.dev && input.ino === found.ino;
  // Links in a folder are its files, wherever they lead to.
  const file = join(fs.realpathSync(dirname(output)), basename(output));
  return file.startsWith(join(fs.realpathSync(path), sep)) && isPart(option, basename(file));
}

/** Whether a file of that name in an input folder is one that would be read. */
function isPart(option: string, name: string): boolean {
  if (option === "text") return true;
  if (option === "tokenizer") return name.startsWith("tokenizer");
  return /\.(safetensors|json)$/.test(name);
}

/** Null for what is no path at all: numbers, addresses, standard input. */
function statOf(path: string): fs.BigIntStats | null {
  try {
    return fs.statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
