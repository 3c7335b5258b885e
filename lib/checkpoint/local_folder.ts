import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { openFile } from "../bytes/file_source.ts";
import type { Folder } from "./folder.ts";

/** A folder of the file system. */
export function localFolder(path: string): Folder {
  return {
    name: path,
    // deno-lint-ignore require-await -- a throw has to become a rejection
    async list() {
      try {
        return readdirSync(path).sort();
      } catch (error) {
        throw fileError("list", path, error);
      }
    },
    // deno-lint-ignore require-await -- as above
    async outside(name) {
      const target = realPath(join(path, name));
      const home = realPath(path);
      if (target === null || home === null) return null;
      return isInside(target, home) || isInside(target, blobsOf(home)) ? null : target;
    },
    has: (name) => Promise.resolve(isFile(join(path, name))),
    // deno-lint-ignore require-await -- as above
    open: async (name) => openFile(join(path, name)),
    path: (name) => join(path, name),
  };
}

/**
 * Model hubs keep a download as links: `<repository>/snapshots/<revision>/<file>` leads to
 * `<repository>/blobs/<digest>`. Only that one place outside a folder is its own.
 */
function blobsOf(home: string): string {
  const snapshots = dirname(home);
  return basename(snapshots) === "snapshots" ? join(dirname(snapshots), "blobs") : home;
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
