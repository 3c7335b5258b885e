import { EngramError } from "../errors.ts";
import type { HttpTarget } from "./http_target.ts";
import { interrupt, interrupted } from "./interrupt.ts";
import { TRAFFIC } from "./traffic.ts";

/** How requests are made; every value has a default. */
export interface HttpSettings {
  /** Tries of one range before giving up. */
  readonly attempts: number;
  /** Wait after the first failed try; doubled after each further one. */
  readonly backoffMs: number;
  /** The longest wait a server may ask for. */
  readonly longestWaitMs: number;
  /** A connection that gives nothing for so long counts as cut. */
  readonly stallMs: number;
  /** Makes the requests. */
  readonly fetch: typeof fetch;
}

/** What is used where nothing is said. */
export const HTTP_SETTINGS: HttpSettings = {
  attempts: 6,
  backoffMs: 300,
  longestWaitMs: 60_000,
  stallMs: 30_000,
  fetch: (input, init) => fetch(input, init),
};

/** Requests under way at once, in the whole program: enough to hide latency, polite to servers. */
const PARALLEL = 16;

/** Redirects followed for one request. */
const MOST_REDIRECTS = 8;

/** A failure that may pass: the request is worth repeating. */
export class Passing extends Error {
  /** How long the server asked to wait, if it did. */
  readonly waitMs: number | undefined;

  constructor(message: string, options: { waitMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}

/** An answer, and the URL it came from after redirects. */
export interface Answer {
  /** The response; its body must be read or cancelled. */
  readonly response: Response;
  /** Where it came from. */
  readonly url: URL;
  /** Called for each piece of the body that arrives: puts off the end of a stalled connection. */
  alive(): void;
}

/**
 * Sends one GET and hands the answer to `use`; a connection slot is held until that is done.
 * Redirects are followed here, so that the login stays behind when another host is named.
 * A connection that fails or stalls throws {@linkcode Passing}.
 */
export async function request<T>(
  target: HttpTarget,
  from: URL,
  headers: Record<string, string>,
  settings: HttpSettings,
  signal: AbortSignal,
  use: (answer: Answer) => Promise<T>,
): Promise<T> {
  await slots.take();
  const stalled = new AbortController();
  let timer = setTimeout(() => stalled.abort(), settings.stallMs);
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stalled.abort(), settings.stallMs);
  };
  try {
    const any = AbortSignal.any([signal, stalled.signal, interrupt()]);
    return await use({ ...await follow(target, from, headers, settings, any), alive });
  } catch (error) {
    if (interrupt().aborted) throw interrupted();
    if (stalled.signal.aborted) {
      throw new Passing(`nothing came for ${settings.stallMs / 1000} s`);
    }
    throw error;
  } finally {
    clearTimeout(timer);
    slots.give();
  }
}

async function follow(
  target: HttpTarget,
  from: URL,
  headers: Record<string, string>,
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<{ response: Response; url: URL }> {
  let url = from;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const own = target.authorization !== undefined && url.origin === target.url.origin;
    const all = own ? { ...headers, Authorization: target.authorization as string } : headers;
    let response = await send(settings, url, { headers: all, redirect: "manual", signal });
    // Browsers do not show where a redirect leads; they follow it as safely themselves.
    if (response.type === "opaqueredirect") {
      response = await send(settings, url, { headers: all, signal });
    }
    TRAFFIC.requests++;
    const location = response.headers.get("Location");
    if (response.status < 300 || response.status > 399 || location === null) {
      return { response, url };
    }
    await response.body?.cancel();
    const next = URL.canParse(location, url) ? new URL(location, url) : null;
    if (!next || !/^https?:$/.test(next.protocol)) {
      throw lost(target, "a redirect to what is no web address");
    }
    url = next;
  }
  throw lost(target, `more than ${MOST_REDIRECTS} redirects`);
}

async function send(settings: HttpSettings, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await settings.fetch(url, init);
  } catch (error) {
    throw asPassing(error);
  }
}

/** What fetch throws for a connection that fails or is cut is a TypeError. */
export function asPassing(error: unknown): unknown {
  return error instanceof TypeError
    ? new Passing("the connection failed", { cause: error })
    : error;
}

function lost(target: HttpTarget, found: string): EngramError {
  return new EngramError(
    "unavailable",
    `Cannot open \`${target.name}\`: found ${found}, wanted the file`,
    { where: target.name },
  );
}

/** A counter of what may still be begun, with a queue. */
class Slots {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  give(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#free++;
  }
}

const slots = new Slots(PARALLEL);
