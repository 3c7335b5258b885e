import { EngramError, type EngramErrorOptions } from "../errors.ts";
import { Passing } from "./http_request.ts";
import type { HttpTarget } from "./http_target.ts";

/** What each status says, and how to mend it. */
const STATUS: Readonly<Record<number, readonly [found: string, hint?: string]>> = {
  401: ["the server wants a login", "Give it in the URL: https://USER:PASSWORD@HOST/…"],
  403: ["access is forbidden", "Check that you may read it; a signed link may have expired"],
  404: ["there is no such file", "Check the address for typing errors"],
  410: ["the file was removed"],
  412: ["the file was changed while it was read", "Run the same command again"],
  416: [
    "the server does not have the bytes asked for: the file was shortened",
    "Run the same command again",
  ],
};

/** A server's refusal; `status` tells a file that is not there from one that may not be read. */
export class HttpStatusError extends EngramError {
  /** The HTTP status. */
  readonly status: number;

  /** Makes an error of kind `unavailable`. */
  constructor(status: number, message: string, options: EngramErrorOptions) {
    super("unavailable", message, options);
    this.status = status;
  }
}

/** Throws for a status that is not a success: {@linkcode Passing} for one worth another try. */
export function refuseStatus(target: HttpTarget, response: Response): void {
  const { status } = response;
  if (status === 200 || status === 206) return;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const waitMs = retryAfter(response.headers.get("Retry-After"));
    throw new Passing(
      status === 429 ? "too many requests (429)" : `the server failed (${status})`,
      waitMs === undefined ? {} : { waitMs },
    );
  }
  const [found, usual] = STATUS[status] ?? ["the server gave an unexpected answer"];
  const hint = status === 401 || status === 403 ? target.accessHint ?? usual : usual;
  throw new HttpStatusError(status, `Cannot open \`${target.name}\`: ${found} (${status})`, {
    where: target.name,
    ...(hint ? { hint } : {}),
  });
}

/** `Retry-After` in milliseconds: seconds, or a date. */
function retryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
