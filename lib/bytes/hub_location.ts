import { EngramError } from "../errors.ts";
import type { HttpTarget } from "./http_target.ts";
import type { HubSettings } from "./hub_settings.ts";

/** A model repository on the hub, or a file or folder in one. */
export interface HubLocation {
  /** `organization/name`. */
  readonly repository: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** Inside the repository, without slashes at its ends; empty for the whole. */
  readonly path: string;
}

/** Whether `location` is one of the hub: `hf://…`. */
export function isHubLocation(location: string): boolean {
  return /^hf:\/\//i.test(location);
}

/**
 * Reads `hf://organization/name[@revision][/path]`. A revision with slashes is written with `%2F`;
 * `refs/pr/N` and `refs/convert/NAME` are known as they stand.
 */
export function parseHubLocation(location: string): HubLocation {
  const PART = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?";
  const match = new RegExp(
    `^hf://(?:models/)?(${PART}/${PART})(?:@(refs/(?:pr|convert)/[^/]+|[^/@]+))?(?:/(.*))?$`,
    "i",
  ).exec(location);
  const [, repository = "", revision = "main", rest = ""] = match ?? [];
  const path = rest.replace(/^\/+|\/+$/g, "");
  const outside = path.split("/").some((part) => part === "." || part === "..");
  if (!match || /\.\.|--/.test(repository) || outside || !decodes(revision)) {
    throw new EngramError(
      "usage",
      `Cannot open \`${location}\`: wanted hf://organization/name, hf://organization/name@revision ` +
        "or a file in it",
      { where: location },
    );
  }
  return { repository, revision: decodeURIComponent(revision), path };
}

/** The location as text that {@linkcode parseHubLocation} reads. */
export function hubName({ repository, revision, path }: HubLocation): string {
  const plain = /^refs\/(pr|convert)\/[^/]+$/.test(revision);
  const spelled = plain ? revision : encodeURIComponent(revision);
  return `hf://${repository}${revision === "main" ? "" : `@${spelled}`}${path && `/${path}`}`;
}

/** Where the bytes of a location are served. */
export function hubTarget(location: HubLocation, settings: HubSettings): HttpTarget {
  const { repository, revision, path } = location;
  const file = path.split("/").map(encodeURIComponent).join("/");
  const url = new URL(
    `${settings.endpoint}/${repository}/resolve/${encodeURIComponent(revision)}/${file}`,
  );
  return {
    url,
    name: hubName(location),
    ...(settings.token === undefined ? {} : { authorization: `Bearer ${settings.token}` }),
    accessHint: accessHint(location, settings),
  };
}

/** What to do where the hub refuses access. */
export function accessHint({ repository }: HubLocation, { endpoint, token }: HubSettings): string {
  return token === undefined
    ? "If the model exists, it is private or gated: run `hf auth login`, or set HF_TOKEN"
    : `The token was refused: check that it can read ${endpoint}/${repository}, ` +
      "and accept the model's terms there if it is gated";
}

function decodes(text: string): boolean {
  try {
    return decodeURIComponent(text) !== "";
  } catch {
    return false;
  }
}
