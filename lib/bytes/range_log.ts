import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { fileError } from "./file_error.ts";
import type { Identity } from "./http_range.ts";
import type { RangeCache } from "./http_source.ts";

/** Before each record: offset (8 bytes), length (4), CRC-32 of offset, length and bytes (4). */
const HEAD_BYTES = 16;

/** A record: the bytes `begin … end` of the remote file, at byte `at` of the log. */
interface Entry {
  readonly begin: number;
  readonly end: number;
  readonly at: number;
}

/**
 * Ranges of a remote file that were fetched before, kept on disk: an append-only log for each
 * file and version (URL, ETag, size). A torn record is cut off and a damaged
 * one fetched anew. Records are appended whole, so several programs can share a folder.
 */
export class RangeLog implements RangeCache {
  readonly #path: string;
  readonly #file: number;
  /** Records by offset in the remote file. */
  readonly #records: Entry[] = [];
  #closed = false;

  private constructor(path: string, file: number) {
    this.#path = path;
    this.#file = file;
  }

  /** Opens the log of a version; null where the server gives nothing to tell versions by. */
  static open(folder: string, url: URL, identity: Identity): RangeLog | null {
    if (identity.etag === null && identity.modified === null) return null;
    const key = JSON.stringify([url.href, identity.etag ?? identity.modified, identity.size]);
    const path = join(folder, `${createHash("sha256").update(key).digest("hex")}.ranges`);
    try {
      fs.mkdirSync(folder, { recursive: true });
      const log = new RangeLog(path, fs.openSync(path, "a+"));
      try {
        log.#load();
      } catch (error) {
        log.close();
        throw error;
      }
      return log;
    } catch (error) {
      throw fileError("use the cache", path, error);
    }
  }

  /** Fills `into` from byte `offset` of the remote file; false where the log has not got it all. */
  read(into: Uint8Array, offset: number): boolean {
    const end = offset + into.length;
    const record = this.#records[this.#after(offset) - 1];
    if (!record || record.end < end) return false;
    const bytes = new Uint8Array(HEAD_BYTES + record.end - record.begin);
    if (!this.#readRecord(bytes, record)) return false;
    const from = HEAD_BYTES + offset - record.begin;
    into.set(bytes.subarray(from, from + into.length));
    return true;
  }

  /** Keeps bytes that were fetched from byte `offset` on. */
  add(bytes: Uint8Array, offset: number): void {
    const record = new Uint8Array(HEAD_BYTES + bytes.length);
    const view = new DataView(record.buffer);
    view.setBigUint64(0, BigInt(offset), true);
    view.setUint32(8, bytes.length, true);
    record.set(bytes, HEAD_BYTES);
    view.setUint32(12, checksum(record), true);
    try {
      if (fs.writeSync(this.#file, record) < record.length) return;
      // Others append too: where this record ended up is where the file ends, or before that.
      const at = fs.fstatSync(this.#file).size - record.length;
      this.#insert(offset, offset + bytes.length, at);
    } catch (error) {
      throw fileError("write the cache", this.#path, error);
    }
  }

  /** Closes the file; closing twice is fine. */
  close(): void {
    if (!this.#closed) fs.closeSync(this.#file);
    this.#closed = true;
  }

  #load(): void {
    const { size } = fs.fstatSync(this.#file);
    const head = new Uint8Array(HEAD_BYTES);
    const view = new DataView(head.buffer);
    let at = 0;
    while (at < size) {
      const got = fs.readSync(this.#file, head, 0, HEAD_BYTES, at);
      const begin = Number(view.getBigUint64(0, true));
      const length = view.getUint32(8, true);
      const end = at + HEAD_BYTES + length;
      if (got < HEAD_BYTES || !Number.isSafeInteger(begin) || end > size) break;
      this.#insert(begin, begin + length, at);
      at = end;
    }
    if (at < size) fs.ftruncateSync(this.#file, at);
  }

  #readRecord(bytes: Uint8Array, { begin, at }: Entry): boolean {
    if (fs.readSync(this.#file, bytes, 0, bytes.length, at) < bytes.length) return false;
    const view = new DataView(bytes.buffer);
    return view.getBigUint64(0, true) === BigInt(begin) &&
      view.getUint32(8, true) === bytes.length - HEAD_BYTES &&
      view.getUint32(12, true) === checksum(bytes);
  }

  #insert(begin: number, end: number, at: number): void {
    this.#records.splice(this.#after(begin), 0, { begin, end, at });
  }

  /** Where the first record stands that begins after `offset`. */
  #after(offset: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#records[middle].begin <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The CRC-32 of a record, its own field aside. */
function checksum(record: Uint8Array): number {
  return crc32(record.subarray(HEAD_BYTES), crc32(record.subarray(0, 12)));
}
