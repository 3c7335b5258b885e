import { realpathSync } from "node:fs";
import { basename, dirname, resolve, sep } from "node:path";
import type { CheckpointFiles } from "../checkpoint/checkpoint_files.ts";
import { EngramError } from "../errors.ts";

/**
 * Refuses an output folder that is the checkpoint's, or lies inside a checkpoint given as a folder:
 * new safetensors files there would be taken for parts of it.
 *
 * @param inside Whether a folder inside is fine.
 */
export function checkOutputFolder(files: CheckpointFiles, out: string, inside = false): void {
  const source = realPath(files.folder.name);
  const target = realPath(out);
  if (target !== source && (inside || files.single || !target.startsWith(source + sep))) return;
  throw new EngramError(
    "usage",
    `Cannot write to \`${out}\`: it ${target === source ? "is" : "lies inside"} the checkpoint's ` +
      `folder \`${files.folder.name}\``,
    { where: out, hint: "Choose a folder outside the checkpoint" },
  );
}

/** Resolves links as far as the path exists. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    const parent = dirname(whole);
    return parent === whole ? whole : resolve(realPath(parent), basename(whole));
  }
}
