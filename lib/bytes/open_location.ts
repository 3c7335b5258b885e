import process from "node:process";
import type { ByteSource } from "./byte_source.ts";
import { openFile } from "./file_source.ts";
import { type HttpOptions, openHttp } from "./http_source.ts";
import { type HttpTarget, httpTarget } from "./http_target.ts";
import { accessHint, hubTarget, isHubLocation, parseHubLocation } from "./hub_location.ts";
import { hubSettings } from "./hub_settings.ts";
import { RangeLog } from "./range_log.ts";

/** Whether `location` is not of the file system: `https://…`, `http://…` or `hf://…`. */
export function isRemote(location: string): boolean {
  return /^https?:\/\//i.test(location) || isHubLocation(location);
}

/**
 * Opens one file wherever it lies: a path, `https://…` or `hf://organization/name[@revision]/file`.
 * JSON files may come whole from servers without ranges; all else is read by ranges.
 */
export async function openLocation(location: string): Promise<ByteSource> {
  if (!isRemote(location)) return openFile(location);
  return await openTarget(remoteTarget(location));
}

/** Opens a remote file, with the cache that `ENGRAM_CACHE` names. */
export async function openTarget(target: HttpTarget): Promise<ByteSource> {
  return await openHttp(target, {
    ...cacheOption(),
    ...(target.url.pathname.endsWith(".json") ? { whole: MOST_WHOLE_BYTES } : {}),
  });
}

/** The largest JSON file taken whole: indexes have some megabytes, tokenizers some tens. */
const MOST_WHOLE_BYTES = 500_000_000;

/** The URL of a remote location, with the hub's token for the hub's own addresses. */
export function remoteTarget(location: string): HttpTarget {
  if (isHubLocation(location)) return hubTarget(parseHubLocation(location), hubSettings());
  const target = httpTarget(location);
  if (target.authorization !== undefined) return target;
  const hub = hubSettings();
  if (target.url.origin !== new URL(hub.endpoint).origin) return target;
  const repository = target.url.pathname.split("/").slice(1, 3).join("/");
  return {
    ...target,
    ...(hub.token === undefined ? {} : { authorization: `Bearer ${hub.token}` }),
    accessHint: accessHint({ repository, revision: "", path: "" }, hub),
  };
}

function cacheOption(): Pick<HttpOptions, "openCache"> {
  const folder = process.env.ENGRAM_CACHE;
  return folder ? { openCache: (url, identity) => RangeLog.open(folder, url, identity) } : {};
}
