import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { HubLocation } from "./hub_location.ts";

/**
 * The folder in which the hub's Python library keeps a repository at a revision
 * (`models--organization--name/snapshots/<commit>`); null where it does not.
 */
export function cachedSnapshot(
  { repository, revision }: HubLocation,
  cacheFolder: string,
): string | null {
  return snapshotOf(join(cacheFolder, `models--${repository.replace("/", "--")}`), revision);
}

/** Whether `folder` is one repository of the hub's cache: `models--organization--name`. */
export function isCachedRepository(folder: string): boolean {
  return /^models--.+/.test(basename(folder)) && isFolder(join(folder, "snapshots"));
}

/** The snapshot of `revision` in a cached repository; without one its only or its main snapshot. */
export function snapshotOf(repository: string, revision?: string): string | null {
  const snapshots = join(repository, "snapshots");
  const commit = revision ?? onlyName(snapshots) ?? "main";
  const pointed = readText(join(repository, "refs", commit));
  for (const name of [commit, pointed]) {
    if (name && !/[/\\]|^\.+$/.test(name) && isFolder(join(snapshots, name))) {
      return join(snapshots, name);
    }
  }
  return null;
}

function onlyName(folder: string): string | null {
  try {
    const names = readdirSync(folder).filter((name) => !name.startsWith("."));
    return names.length === 1 ? names[0] : null;
  } catch {
    return null;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
