import { join } from "node:path";
import { httpTarget } from "../bytes/http_target.ts";
import { cachedSnapshot } from "../bytes/hub_cache.ts";
import { type HubLocation, isHubLocation, parseHubLocation } from "../bytes/hub_location.ts";
import { type HubSettings, hubSettings } from "../bytes/hub_settings.ts";
import { remoteTarget } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import { findFilePlace, findPlace } from "./find_place.ts";
import { localFolder } from "./local_folder.ts";
import type { Place } from "./place.ts";
import { hubFolder, webFolder } from "./remote_folder.ts";
import { readIndex } from "./tensor_index.ts";

/** Looks at what a URL or an `hf://` location is: one file, by its ending, or a folder. */
export async function locateRemote(location: string): Promise<Place> {
  const hub = isHubLocation(location) ? parseHubLocation(location) : hubPage(location);
  if (hub) return await locateHub(location, hub, hubSettings());
  const target = remoteTarget(location);
  if (!isFileName(target.url.pathname)) return await findPlace(target.name, webFolder(target));
  const [folder, file] = cutFile(target.url.pathname);
  const url = new URL(target.url);
  url.pathname = folder;
  const name = target.name.replace(/[^/]*$/, "");
  return await findFilePlace(
    target.name,
    webFolder({ ...target, url, name }),
    decodeURIComponent(file),
  );
}

async function locateHub(given: string, hub: HubLocation, settings: HubSettings): Promise<Place> {
  const [folder, file] = isFileName(hub.path) ? cutFile(hub.path) : [hub.path, null];
  const snapshot = cachedSnapshot(hub, settings.cacheFolder);
  if (snapshot !== null) {
    const local = localFolder(join(snapshot, folder));
    const names = file === null ? await wholeModel(given, join(snapshot, folder)) : [file];
    const there = await Promise.all(names.map((name) => local.has(name)));
    if (names.length > 0 && there.every(Boolean)) {
      return file === null
        ? await findPlace(given, local)
        : await findFilePlace(given, local, file);
    }
  }
  if (settings.offline) {
    throw new EngramError(
      "unavailable",
      `Cannot open \`${given}\`: found ${snapshot === null ? "nothing" : "only a part"} of it in ` +
        `\`${settings.cacheFolder}\`, and HF_HUB_OFFLINE forbids to fetch it`,
      { where: given, hint: "Unset HF_HUB_OFFLINE, or download the model first" },
    );
  }
  const remote = hubFolder({ ...hub, path: folder }, settings);
  return file === null ? await findPlace(given, remote) : await findFilePlace(given, remote, file);
}

/** The files without which a model is not whole; none where the folder holds no tensors at all. */
async function wholeModel(given: string, path: string): Promise<readonly string[]> {
  const folder = localFolder(path);
  try {
    const { indexName, fileNames } = await findPlace(given, folder);
    if (indexName !== null) return (await readIndex(folder, indexName)).files;
    return [...new Set(fileNames.flatMap(siblings))];
  } catch (error) {
    if (error instanceof EngramError) return [];
    throw error;
  }
}

/** All files of the set that `model-00001-of-00002.safetensors` says it is one of. */
function siblings(name: string): string[] {
  const match = /^(.*-)(\d{1,9})(-of-)(\d{1,5})(\.safetensors)$/.exec(name);
  if (!match) return [name];
  const [, before, number, of, count, after] = match;
  return Array.from(
    { length: Number(count) },
    (_, i) => before + String(i + 1).padStart(number.length, "0") + of + count + after,
  );
}

/** A model's page on the hub, as it is copied from a browser: `…/organization/name[/tree/main]`. */
function hubPage(location: string): HubLocation | null {
  const { url } = httpTarget(location);
  if (url.origin !== new URL(hubSettings().endpoint).origin) return null;
  const match = /^\/([^/]+\/[^/]+?)\/?(?:\/tree\/([^/]+)\/?)?$/.exec(url.pathname);
  if (!match || isFileName(url.pathname)) return null;
  return parseHubLocation(`hf://${match[1]}${match[2] ? `@${match[2]}` : ""}`);
}

function isFileName(path: string): boolean {
  return /\.(safetensors|json)$/.test(path);
}

/** Cuts a path before its last part: `["folder", "file"]`. */
function cutFile(path: string): [folder: string, file: string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)];
}
