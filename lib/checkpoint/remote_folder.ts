import type { ByteSource } from "../bytes/byte_source.ts";
import { HttpStatusError } from "../bytes/http_status.ts";
import { childTarget, type HttpTarget } from "../bytes/http_target.ts";
import { listHub } from "../bytes/hub_list.ts";
import { type HubLocation, hubName, hubTarget } from "../bytes/hub_location.ts";
import type { HubSettings } from "../bytes/hub_settings.ts";
import { openTarget } from "../bytes/open_location.ts";
import type { Folder } from "./folder.ts";

/** A folder behind a URL. Plain web servers do not list what is in it. */
export function webFolder(target: HttpTarget): Folder {
  return remoteFolder({
    name: target.name,
    target: (file) => childTarget(target, file),
    path: (file) => childTarget(target, file).url.href,
    list: () => Promise.resolve(null),
  });
}

/** A folder of a repository on the hub. */
export function hubFolder(location: HubLocation, hub: HubSettings): Folder {
  const inside = (file: string) => ({
    ...location,
    path: location.path === "" ? file : `${location.path}/${file}`,
  });
  return remoteFolder({
    name: hubName(location),
    target: (file) => hubTarget(inside(file), hub),
    path: (file) => hubName(inside(file)),
    list: () => listHub(location, hub),
  });
}

interface Remote {
  readonly name: string;
  target(file: string): HttpTarget;
  path(file: string): string;
  list(): Promise<readonly string[] | null>;
}

function remoteFolder({ name, target, path, list }: Remote): Folder {
  let names: Promise<readonly string[] | null> | undefined;
  /** Files that were opened to see whether they are there. */
  const probed = new Map<string, Promise<ByteSource | null>>();
  return {
    name,
    distant: true,
    list: () => names ??= list(),
    outside: () => Promise.resolve(null),
    path,
    async has(file) {
      const known = await names;
      if (known) return known.includes(file);
      let found = probed.get(file);
      if (!found) probed.set(file, found = openTarget(target(file)).catch(missing));
      return await found !== null;
    },
    async open(file) {
      const found = await probed.get(file);
      // It belongs to whoever opens it first; the next one gets another.
      probed.delete(file);
      return found ?? await openTarget(target(file));
    },
  };
}

/** Null for a file that is not there; any other failure is one. */
function missing(error: unknown): null {
  if (error instanceof HttpStatusError && [404, 410].includes(error.status)) return null;
  throw error;
}
