import { EngramError } from "../errors.ts";
import type { ByteSource, ReadRange } from "./byte_source.ts";
import { checkRange } from "./check_range.ts";
import { HttpRange, type Identity } from "./http_range.ts";
import { HTTP_SETTINGS, type HttpSettings } from "./http_request.ts";
import type { HttpTarget } from "./http_target.ts";
import { type MergedRange, mergeRanges } from "./merge_ranges.ts";

/** How a file behind a URL is opened. */
export interface HttpOptions {
  /** How requests are made. */
  readonly settings?: Partial<HttpSettings>;
  /** Opens what keeps fetched ranges from one run to the next. */
  readonly openCache?: (url: URL, identity: Identity) => RangeCache | null;
  /** Take a whole file of at most so many bytes from a server that gives no ranges. */
  readonly whole?: number;
}

/** Keeps ranges of one version of a file. */
export interface RangeCache {
  /** Fills `into` from byte `offset` of the remote file; false where it has not got it all. */
  read(into: Uint8Array, offset: number): boolean;
  /** Keeps bytes that were fetched from byte `offset` on. */
  add(bytes: Uint8Array, offset: number): void;
  /** Releases what it holds; closing twice is fine. */
  close(): void;
}

/** The first request's length: the headers of the released files of 100 GB are 664 bytes long. */
const HEAD_BYTES = 4096;

/** Bytes worth fetching to save a request: about what a request and its answer cost in headers. */
const GAP_BYTES = 512;

/** The longest range of one request: a failure costs at most this. */
const MOST_BYTES = 8 * 2 ** 20;

/**
 * Opens a file behind an `http(s)` URL by its first bytes. What is read later comes by range
 * requests: merged, in parallel, repeated where the network fails in passing. A file that changes
 * meanwhile (by its ETag, its date or its size) is an error, never a mix of two versions.
 */
export async function openHttp(target: HttpTarget, options: HttpOptions = {}): Promise<ByteSource> {
  const range = new HttpRange(target, { ...HTTP_SETTINGS, ...options.settings });
  const head = await range.begin(HEAD_BYTES, options.whole);
  const cache = options.openCache?.(target.url, range.identity) ?? null;
  return new HttpSource(range, head, cache);
}

class HttpSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #range: HttpRange;
  readonly #head: Uint8Array;
  readonly #cache: RangeCache | null;
  #closed = false;

  constructor(range: HttpRange, head: Uint8Array, cache: RangeCache | null) {
    this.name = range.target.name;
    this.size = range.identity.size;
    this.#range = range;
    this.#head = head;
    this.#cache = cache;
  }

  async read(into: Uint8Array, offset: number): Promise<void> {
    await this.readRanges([{ offset, into }]);
  }

  async readRanges(ranges: readonly ReadRange[]): Promise<void> {
    if (this.#closed) {
      throw new EngramError("usage", `Cannot read \`${this.name}\`: it is closed`);
    }
    for (const { offset, into } of ranges) checkRange(this.name, this.size, offset, into.length);
    const missing = ranges.flatMap((range) => this.#fromHead(range))
      .filter(({ offset, into }) => !this.#cache?.read(into, offset))
      .flatMap(split);
    const stop = new AbortController();
    const fetches = mergeRanges(missing, GAP_BYTES, MOST_BYTES).map(async (merged) => {
      try {
        await this.#fetch(merged, stop.signal);
      } catch (error) {
        // One failure ends the rest: their bytes would be for nothing.
        if (!stop.signal.aborted) stop.abort(error);
        throw error;
      }
    });
    const failed = (await Promise.allSettled(fetches)).some(({ status }) => status === "rejected");
    if (failed) throw stop.signal.reason;
  }

  checkUnchanged(): void {
    // Each answer was compared with the first one when it came.
  }

  close(): void {
    this.#closed = true;
    this.#cache?.close();
  }

  /** Copies what the first request brought; returns what is left to fetch. */
  #fromHead({ offset, into }: ReadRange): ReadRange[] {
    const have = this.#head.subarray(offset, offset + into.length);
    into.set(have);
    const rest = into.subarray(have.length);
    return rest.length === 0 ? [] : [{ offset: offset + have.length, into: rest }];
  }

  async #fetch({ begin, end, pieces }: MergedRange, signal: AbortSignal): Promise<void> {
    const [{ into: only }] = pieces;
    const bytes = pieces.length === 1 ? only : new Uint8Array(end - begin);
    await this.#range.read(bytes, begin, signal);
    this.#cache?.add(bytes, begin);
    if (bytes === only) return;
    for (const { offset, into } of pieces) {
      into.set(bytes.subarray(offset - begin, offset - begin + into.length));
    }
  }
}

/** Cuts a range of more than {@linkcode MOST_BYTES}. */
function split({ offset, into }: ReadRange): ReadRange[] {
  const parts: ReadRange[] = [];
  for (let at = 0; at < into.length; at += MOST_BYTES) {
    parts.push({ offset: offset + at, into: into.subarray(at, at + MOST_BYTES) });
  }
  return parts;
}
