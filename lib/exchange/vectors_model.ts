import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Name of the file that says what a folder of vectors holds. */
export const VECTORS_MANIFEST = "manifest.json";

/** What the manifest's `format` says. */
export const VECTORS_FORMAT = "engram-vectors";

/**
 * The config and token map that conformance vectors carry, where `path` is their folder or a file
 * of it; null where it is not.
 */
export function vectorsModel(path: string): { config: string; map: string } | null {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path);
  const manifest = join(folder, VECTORS_MANIFEST);
  if (!existsSync(manifest)) return null;
  try {
    if (JSON.parse(readFileSync(manifest, "utf8")).format !== VECTORS_FORMAT) return null;
  } catch {
    return null;
  }
  return { config: join(folder, "config.json"), map: join(folder, "token_map.safetensors") };
}
