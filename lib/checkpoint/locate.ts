import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { findFilePlace, findPlace } from "./find_place.ts";
import { localFolder } from "./local_folder.ts";
import type { Place } from "./place.ts";

/** Looks at what a path is: a folder, a safetensors file, an index or a config. */
export async function locate(location: string): Promise<Place> {
  let isFolder: boolean;
  try {
    isFolder = statSync(location).isDirectory();
  } catch (error) {
    throw fileError("open", location, error);
  }
  if (isFolder) return await findPlace(location, localFolder(location));
  // The folder of the path as given: in a hub's cache the link's own, not its target's.
  return await findFilePlace(location, localFolder(dirname(location)), basename(location));
}
