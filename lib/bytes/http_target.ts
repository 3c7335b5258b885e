import { EngramError } from "../errors.ts";

/** A URL to read from, and who may be told what about it. */
export interface HttpTarget {
  /** The URL, without a login in it. */
  readonly url: URL;
  /** For messages: the location as the user knows it. Holds no secret. */
  readonly name: string;
  /** The `Authorization` header; sent to the URL's own origin only, and never printed. */
  readonly authorization?: string;
  /** Said where access is refused. */
  readonly accessHint?: string;
}

/** Reads `https://…` or `http://…`; a login in it (`https://user:password@host/`) becomes a header. */
export function httpTarget(location: string): HttpTarget {
  let url: URL;
  try {
    url = new URL(location);
  } catch {
    throw new EngramError("usage", `Cannot open \`${location}\`: it is no valid URL`, {
      where: location,
    });
  }
  const { username, password } = url;
  url.username = url.password = url.hash = "";
  // A query may hold a signature, which is as good as a password.
  const path = decoded(url.pathname).replace(/\/+$/, "");
  const name = url.origin + path + (url.search ? "?…" : "");
  if (username === "" && password === "") return { url, name };
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const bytes = new TextEncoder().encode(login);
  return { url, name, authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

function decoded(path: string): string {
  try {
    // Only what is safe to print: a control character stays escaped.
    const text = decodeURIComponent(path);
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    return /[\x00-\x20\x7f-\x9f]/.test(text) ? path : text;
  } catch {
    return path;
  }
}

/** The target of `name` inside the folder `target` stands for; a query belongs to every file. */
export function childTarget(target: HttpTarget, name: string): HttpTarget {
  const url = new URL(target.url);
  const folder = url.pathname.replace(/\/*$/, "/");
  url.pathname = folder + name.split("/").map(encodeURIComponent).join("/");
  const [shown, query = ""] = target.name.split("?");
  const child = shown.replace(/\/*$/, "/") + name + (query && `?${query}`);
  return { ...target, url, name: child };
}
