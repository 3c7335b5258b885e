import { EngramError } from "../errors.ts";
import { type Answer, asPassing, type HttpSettings, Passing, request } from "./http_request.ts";
import { retry } from "./http_retry.ts";
import { refuseStatus } from "./http_status.ts";
import type { HttpTarget } from "./http_target.ts";
import { TRAFFIC } from "./traffic.ts";

/** Which bytes a server has under a URL: what must stay the same from one answer to the next. */
export interface Identity {
  /** Size of the whole file. */
  readonly size: number;
  /** The `ETag`, if the server gives one. */
  readonly etag: string | null;
  /** `Last-Modified`, if the server gives it. */
  readonly modified: string | null;
}

/** A file behind a URL, seen through range requests. */
export class HttpRange {
  readonly target: HttpTarget;
  readonly #settings: HttpSettings;
  /** Where the last redirect led; asked first until it no longer serves. */
  #direct: URL | null = null;
  /** Set by the first answer; later ones must agree. */
  #identity: Identity | undefined;

  constructor(target: HttpTarget, settings: HttpSettings) {
    this.target = target;
    this.#settings = settings;
  }

  /** What the first answer said the file is. */
  get identity(): Identity {
    if (this.#identity) return this.#identity;
    throw new Error("identity is known after the first fetch");
  }

  /**
   * The first bytes of the file, at most `length`, and its identity. With `whole`, a server that
   * cannot give ranges may send all of the file instead (at most `whole` bytes of it).
   */
  async begin(length: number, whole = 0): Promise<Uint8Array> {
    let bytes = new Uint8Array(length);
    const { signal } = new AbortController();
    await retry(this.target.name, this.#settings, signal, async () => {
      await this.#ask(0, length, signal, async (answer) => {
        const { response } = answer;
        const size = sizeOfEmpty(response);
        if (size) return void (bytes = new Uint8Array(0));
        refuseStatus(this.target, response);
        if (response.status === 200) {
          bytes = new Uint8Array(this.#wholeSize(response, whole));
          this.#identity = identityOf(response, bytes.length);
        } else {
          const { begin, end, total } = this.#contentRange(response);
          if (begin !== 0 || end > Math.min(length, total)) throw this.#wrongRange(response);
          this.#identity = identityOf(response, total);
          bytes = bytes.subarray(0, Math.min(length, total));
        }
        const got = await fill(bytes, answer);
        if (got < bytes.length) throw cut(got, bytes.length);
      });
    });
    this.#identity ??= { size: 0, etag: null, modified: null };
    return bytes;
  }

  /** Fills `into` from byte `offset` on; what came before a cut is kept. */
  async read(into: Uint8Array, offset: number, signal: AbortSignal): Promise<void> {
    let done = 0;
    await retry(this.target.name, this.#settings, signal, async () => {
      const begin = offset + done;
      await this.#ask(begin, offset + into.length, signal, async (answer) => {
        refuseStatus(this.target, answer.response);
        this.#refuseChanged(answer.response);
        if (answer.response.status === 200) throw this.#noRanges();
        const range = this.#contentRange(answer.response);
        if (range.total !== this.identity.size) throw this.#changed();
        if (range.begin !== begin || range.end > offset + into.length) {
          throw this.#wrongRange(answer.response);
        }
        done += await fill(into.subarray(done), answer);
        if (done < into.length) throw cut(done, into.length);
      });
    });
  }

  async #ask(
    begin: number,
    end: number,
    signal: AbortSignal,
    use: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    const headers: Record<string, string> = {
      "Range": `bytes=${begin}-${end - 1}`,
      // Ranges count the bytes of the file itself, not of a compressed form.
      "Accept-Encoding": "identity",
    };
    const pin = this.#identity && strongValidator(this.#identity);
    if (pin) headers["If-Range"] = pin;
    const from = this.#direct ?? this.target.url;
    await request(this.target, from, headers, this.#settings, signal, async (answer) => {
      try {
        if (from !== this.target.url && EXPIRED.includes(answer.response.status)) {
          this.#direct = null;
          throw new Passing("the redirect's target has expired", { waitMs: 0 });
        }
        this.#direct = answer.url.href === this.target.url.href ? null : answer.url;
        await use(answer);
      } finally {
        await answer.response.body?.cancel().catch(() => {});
      }
    });
  }

  #refuseChanged(response: Response): void {
    const { etag, modified } = identityOf(response, 0);
    const pinned = this.identity;
    const same = pinned.etag !== null ? etag === pinned.etag : modified === pinned.modified;
    if (!same) throw this.#changed();
  }

  #changed(): EngramError {
    return new EngramError(
      "unavailable",
      `Cannot read \`${this.target.name}\`: the file was changed while it was read`,
      { where: this.target.name, hint: "Run the same command again" },
    );
  }

  #noRanges(): EngramError {
    return new EngramError(
      "unavailable",
      `Cannot read \`${this.target.name}\`: the server sends whole files only, ` +
        "wanted one that serves ranges of bytes",
      {
        where: this.target.name,
        hint: "Download the checkpoint and open it from disk, or serve it with nginx, for example",
      },
    );
  }

  #wholeSize(response: Response, most: number): number {
    const size = Number(response.headers.get("Content-Length") ?? NaN);
    if (size === 0) return 0;
    if (/^text\/html\b/i.test(response.headers.get("Content-Type") ?? "")) {
      throw new EngramError(
        "malformed",
        `Cannot open \`${this.target.name}\`: found a web page, wanted the file`,
        { where: this.target.name, hint: "Give the address of the file or folder itself" },
      );
    }
    if (!(size <= most)) throw this.#noRanges();
    return size;
  }

  #contentRange(response: Response): { begin: number; end: number; total: number } {
    const text = response.headers.get("Content-Range") ?? "";
    const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(text);
    if (!match) throw this.#wrongRange(response);
    const [begin, last, total] = match.slice(1).map(Number);
    if (!Number.isSafeInteger(total) || last < begin || last >= total) {
      throw this.#wrongRange(response);
    }
    return { begin, end: last + 1, total };
  }

  #wrongRange(response: Response): EngramError {
    const found = response.headers.get("Content-Range")?.slice(0, 80);
    return new EngramError(
      "unavailable",
      `Cannot read \`${this.target.name}\`: the server gave ` +
        `${found ? `the range "${found}"` : "no range's place"}, wanted the one asked for`,
      { where: this.target.name },
    );
  }
}

/** Statuses by which a signed link says that its time is over. */
const EXPIRED = [400, 401, 403, 404, 410];

/** An empty file has no first byte: servers answer 416 and its size, zero. */
function sizeOfEmpty(response: Response): boolean {
  return response.status === 416 && response.headers.get("Content-Range") === "bytes */0";
}

function identityOf(response: Response, size: number): Identity {
  const { headers } = response;
  return { size, etag: headers.get("ETag"), modified: headers.get("Last-Modified") };
}

/** `If-Range` takes no weak tags; what it cannot pin is compared afterwards. */
function strongValidator({ etag, modified }: Identity): string | null {
  if (etag !== null) return etag.startsWith("W/") ? null : etag;
  return modified;
}

/** Reads the body into `bytes` and returns how many came; more than fit is left. */
async function fill(bytes: Uint8Array, { response, alive }: Answer): Promise<number> {
  let done = 0;
  if (!response.body) return done;
  const reader = response.body.getReader();
  try {
    while (done < bytes.length) {
      const { value, done: ended } = await reader.read();
      if (ended) break;
      alive();
      TRAFFIC.bytes += value.length;
      const piece = value.subarray(0, bytes.length - done);
      bytes.set(piece, done);
      done += piece.length;
    }
  } catch (error) {
    // The bytes that came are good; the caller asks for the rest.
    if (done === 0) throw asPassing(error);
  } finally {
    await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
  return done;
}

function cut(got: number, wanted: number): Passing {
  return new Passing(`the answer was cut off after ${got} of ${wanted} bytes`);
}
