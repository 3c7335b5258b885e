import { readFileSync, readlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * The SHA-256 that a model hub stored with a downloaded file: in its cache each large file is named
 * by it, in a plain download folder it stands in `.cache/huggingface/download/FILE.metadata`.
 * Null where there is none.
 */
export function hubSum(folder: string, file: string): string | null {
  return sumOfLink(join(folder, file)) ?? sumOfMetadata(folder, file);
}

function sumOfLink(path: string): string | null {
  let target: string;
  try {
    target = readlinkSync(path);
  } catch {
    return null;
  }
  const name = basename(target);
  return basename(dirname(target)) === "blobs" && SHA256.test(name) ? name : null;
}

/** The metadata's lines are the revision, the file's tag and the time of the download. */
function sumOfMetadata(folder: string, file: string): string | null {
  let text: string;
  try {
    text = readFileSync(join(folder, ".cache/huggingface/download", `${file}.metadata`), "utf8");
  } catch {
    return null;
  }
  const tag = text.split("\n")[1]?.trim().replaceAll('"', "") ?? "";
  return SHA256.test(tag) ? tag : null;
}
