import { statfsSync } from "node:fs";
import { EngramError } from "../errors.ts";

/** Below this, running out of space is found soon enough, and no permission to ask is needed. */
const WORTH_ASKING = 16 * 2 ** 20;

/** Throws an `EngramError` where the disk that `folder` lies on has fewer than `bytes` free. */
export function checkFreeSpace(folder: string, bytes: number, path: string = folder): void {
  if (bytes < WORTH_ASKING) return;
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (bytes <= free) return;
  throw new EngramError(
    "unavailable",
    `Cannot create \`${path}\`: ${free} bytes are free on its disk, wanted ${bytes}`,
    { where: path, hint: "Free some space, or write to another disk" },
  );
}
