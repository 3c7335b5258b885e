import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { isCachedRepository, snapshotOf } from "../bytes/hub_cache.ts";
import { isRemote } from "../bytes/open_location.ts";
import { findFilePlace, findPlace } from "./find_place.ts";
import { localFolder } from "./local_folder.ts";
import { locateRemote } from "./locate_remote.ts";
import type { Place } from "./place.ts";

/** Looks at what a path or URL is: a folder, a safetensors file, an index or a config. */
export async function locate(location: string): Promise<Place> {
  if (isRemote(location)) return await locateRemote(location);
  let isFolder: boolean;
  try {
    isFolder = statSync(location).isDirectory();
  } catch (error) {
    throw fileError("open", location, error);
  }
  if (isFolder) {
    // A whole repository of the hub's cache stands for its snapshot.
    const snapshot = isCachedRepository(location) ? snapshotOf(location) : null;
    return await findPlace(location, localFolder(snapshot ?? location));
  }
  // The folder of the path as given: in a hub's cache the link's own, not its target's.
  return await findFilePlace(location, localFolder(dirname(location)), basename(location));
}
