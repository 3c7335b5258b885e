import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { bytesOf } from "../bytes/bytes_of.ts";
import { normalizeKey } from "./normalize_key.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A compressed token map: which token ids the n-gram hash takes for the same token. */
export interface TokenMap {
  /** [tokens]: the compressed id of each token id. */
  readonly map: Int32Array;
  /** Number of distinct compressed ids; they are 0 … this - 1. */
  readonly compressedVocabSize: number;
  /** Tokens that are no whole UTF-8 text alone and so stand for themselves; null when not known. */
  readonly undecodable: number | null;
  /** SHA-256 of the map's int32 little-endian bytes, in hexadecimal. */
  readonly sha256: string;
}

/** Builds the compressed token map of a tokenizer, equal to the reference's to the last id. */
export function buildTokenMap(tokenizer: Tokenizer): TokenMap {
  const map = new Int32Array(tokenizer.tokens);
  const ids = new Map<string, number>();
  let undecodable = 0;
  for (let id = 0; id < map.length; id++) {
    const text = tokenizer.decodeOne(id);
    let key: string;
    if (text.includes("\uFFFD")) {
      key = tokenizer.rawToken(id)!;
      undecodable++;
    } else key = normalizeKey(text) || text;
    let compressed = ids.get(key);
    if (compressed === undefined) ids.set(key, compressed = ids.size);
    map[id] = compressed;
  }
  return { map, compressedVocabSize: ids.size, undecodable, sha256: mapDigest(map) };
}

/** SHA-256 of a map's int32 little-endian bytes, in hexadecimal; in JavaScript, for browsers too. */
export function mapDigest(map: Int32Array): string {
  return bytesToHex(sha256(bytesOf(map)));
}
