import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { EngramError } from "../lib/errors.ts";

/** Files to be compared. */
export interface DiffPlaces {
  readonly pairs: readonly { file: string; expected: string; actual: string }[];
  /** Files expected that the other folder lacks. */
  readonly missing: readonly string[];
}

const DUMP = /\.(safetensors|npy|jsonl)$/;

/** Two files, or the files of two folders by name; an engine may write .npy for .safetensors. */
export function diffPlaces(expected: string, actual: string): DiffPlaces {
  const [ours, theirs] = [isFolder(expected), isFolder(actual)];
  if (ours !== theirs) {
    const [folder, file] = ours ? [expected, actual] : [actual, expected];
    throw new EngramError(
      "usage",
      `Cannot compare folder \`${folder}\` with file \`${file}\`: wanted two of a kind`,
      { hint: "Name the file in the folder that it is to be compared with" },
    );
  }
  if (!ours) return { pairs: [{ file: actual, expected, actual }], missing: [] };
  const names = readdirSync(actual);
  const pairs: { file: string; expected: string; actual: string }[] = [];
  const missing: string[] = [];
  for (const name of readdirSync(expected).filter((name) => DUMP.test(name)).sort()) {
    const stem = name.replace(DUMP, "");
    const found = names.includes(name)
      ? name
      : names.find((other) => DUMP.test(other) && other.replace(DUMP, "") === stem);
    if (found === undefined) missing.push(name);
    else pairs.push({ file: name, expected: join(expected, name), actual: join(actual, found) });
  }
  if (pairs.length > 0) return { pairs, missing };
  throw new EngramError(
    "usage",
    `Cannot compare \`${actual}\`: found none of the files ${missing.join(", ") || "expected"}`,
    { where: actual, hint: `Name files as those in \`${expected}\` are` },
  );
}

/** Whether a path is a folder; what is not there is found out when it is opened. */
function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
