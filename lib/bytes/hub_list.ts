import { HTTP_SETTINGS, type HttpSettings, request } from "./http_request.ts";
import { retry } from "./http_retry.ts";
import { HttpStatusError, refuseStatus } from "./http_status.ts";
import { accessHint, type HubLocation, hubName } from "./hub_location.ts";
import type { HubSettings } from "./hub_settings.ts";
import { TRAFFIC } from "./traffic.ts";

/**
 * Names of the files directly inside a folder of the hub, sorted; null where the server lists
 * nothing (a plain mirror of the files). Pages and names come through the hub's own library.
 */
export async function listHub(
  location: HubLocation,
  hub: HubSettings,
  settings: Partial<HttpSettings> = {},
): Promise<readonly string[] | null> {
  const { listFiles } = await import("@huggingface/hub");
  const { repository, revision, path } = location;
  const names: string[] = [];
  let listed = true;
  const files = listFiles({
    repo: repository,
    revision: encodeURIComponent(revision),
    hubUrl: hub.endpoint,
    ...(path === "" ? {} : { path: path.split("/").map(encodeURIComponent).join("/") }),
    fetch: async (input) => {
      const response = await page(new URL(String(input)), location, hub, settings);
      listed = response !== null;
      return response ?? new Response("[]");
    },
  });
  for await (const file of files) {
    if (file.type === "file") names.push(file.path.slice(path === "" ? 0 : path.length + 1));
  }
  return listed ? names.sort() : null;
}

/** One page of the list; null where there is none (404). */
async function page(
  url: URL,
  location: HubLocation,
  hub: HubSettings,
  settings: Partial<HttpSettings>,
): Promise<Response | null> {
  const whole = { ...HTTP_SETTINGS, ...settings };
  const { signal } = new AbortController();
  // The token goes to the hub alone, wherever a page says that the next one is.
  const own = hub.token !== undefined && url.origin === new URL(hub.endpoint).origin;
  const target = {
    url,
    name: hubName(location),
    accessHint: accessHint(location, hub),
    ...(own ? { authorization: `Bearer ${hub.token}` } : {}),
  };
  const accept = { accept: "application/json" };
  return await retry(
    target.name,
    whole,
    signal,
    () =>
      request(target, url, accept, whole, signal, async ({ response }) => {
        try {
          refuseUnknown(response, location);
          if (response.status === 404) return null;
          refuseStatus(target, response);
          const text = await response.text();
          TRAFFIC.bytes += text.length;
          // A list that is no list (a web page under every address) is none.
          return isList(text) ? new Response(text, { headers: response.headers }) : null;
        } finally {
          if (!response.bodyUsed) await response.body?.cancel();
        }
      }),
  );
}

/** The hub says what it does not know; a mirror's 404 says nothing. */
function refuseUnknown(response: Response, location: HubLocation): void {
  const unknown = UNKNOWN[response.headers.get("X-Error-Code") ?? ""];
  if (!unknown || response.status !== 404) return;
  const where = hubName(location);
  const found = `the hub knows no such ${unknown}`;
  throw new HttpStatusError(404, `Cannot open \`${where}\`: ${found} (404)`, {
    where,
    hint: "Check its spelling: hf://organization/name@revision",
  });
}

const UNKNOWN: Readonly<Record<string, string>> = {
  RepoNotFound: "repository",
  RevisionNotFound: "revision",
};

function isList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
