import { blobSource } from "../bytes/blob_source.ts";
import { EngramError } from "../errors.ts";
import type { Folder } from "./folder.ts";

/** Files picked in a browser, by name, as the folder of a checkpoint. */
export function pickedFolder(files: ReadonlyMap<string, Blob>, name = "picked files"): Folder {
  return {
    name,
    list: () => Promise.resolve([...files.keys()].sort()),
    outside: () => Promise.resolve(null),
    has: (file) => Promise.resolve(files.has(file)),
    // deno-lint-ignore require-await -- a throw has to become a rejection
    async open(file) {
      const blob = files.get(file);
      if (blob) return blobSource(blob, file);
      throw new EngramError("unavailable", `Cannot open \`${file}\`: it was not picked`, {
        where: file,
        hint: "Pick all files of the checkpoint's folder",
      });
    },
    path: (file) => file,
  };
}
