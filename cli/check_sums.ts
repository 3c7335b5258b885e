import { statSync } from "node:fs";
import { isRemote } from "../lib/bytes/open_location.ts";
import { openFile } from "../lib/bytes/file_source.ts";
import { EngramError } from "../lib/errors.ts";
import { type Check, notChecked } from "../lib/verify/check.ts";
import { checkSums } from "../lib/verify/check_sums.ts";
import { parseSums } from "../lib/verify/parse_sums.ts";
import { hubSum } from "../lib/verify/hub_sums.ts";
import type { Survey } from "../lib/verify/survey.ts";
import type { Context } from "./command.ts";

/** A list of digests is lines of some hundred bytes; more is another file by mistake. */
const MOST_LIST_BYTES = 64 * 2 ** 20;

/** Compares files with the digests of a list, or with those a model hub left beside them. */
export async function checkFileSums(
  { files }: Survey,
  options: { readonly sha256?: string | true | undefined; readonly workers?: number | undefined },
  { signal, progress }: Context,
): Promise<Check> {
  const { sha256: list, workers } = options;
  if (list === undefined) return notChecked("sha256", "give --sha256, with a list or without");
  const folder = files.folder.name;
  if (isRemote(folder)) return notChecked("sha256", "files behind a URL are not digested");
  const sums = list === true ? hubSums(folder, files.files.keys()) : await readList(list);
  const place = list === true ? "the sums of the hub's cache" : `\`${list}\``;
  const total = [...sums.keys()].reduce((sum, file) => sum + sizeOf(files.folder.path(file)), 0);
  const bar = progress("digesting", total, "bytes");
  try {
    return await checkSums(folder, sums, place, {
      workers,
      signal,
      onBytes: (count) => bar.advance(count),
    });
  } finally {
    bar.stop();
  }
}

function hubSums(folder: string, names: Iterable<string>): Map<string, string> {
  const sums = new Map<string, string>();
  for (const name of names) {
    const sum = hubSum(folder, name);
    if (sum !== null) sums.set(name, sum);
  }
  return sums;
}

async function readList(path: string): Promise<Map<string, string>> {
  const source = openFile(path);
  try {
    if (source.size > MOST_LIST_BYTES) {
      throw new EngramError(
        "malformed",
        `Cannot read \`${path}\`: found ${source.size} bytes, wanted a list of SHA-256 sums`,
        { where: path },
      );
    }
    const bytes = new Uint8Array(source.size);
    await source.read(bytes, 0);
    return parseSums(new TextDecoder().decode(bytes), path);
  } finally {
    source.close();
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    // A file that is not there is a finding of the check.
    return 0;
  }
}
