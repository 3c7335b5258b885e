import type { Constants } from "./constants.ts";

/** Tokens to be hashed by rules, with those before them that they look back to. */
export interface TokenSample {
  /** Place of `tokenIds[lead]` among all tokens of the file. */
  readonly first: number;
  /** Tokens at the front that are only looked back to. */
  readonly lead: number;
  /** Token ids, lead included. */
  readonly tokenIds: Int32Array;
  /** 1 where a token takes no part. */
  readonly dead: Uint8Array;
  /** Position of each token in its request. */
  readonly positions: Float64Array;
}

/** Everything the hash depends on, so that any of it can be wrong. */
export interface HashRules {
  /** Token id to what is hashed. */
  readonly map: Int32Array;
  /** What stands for padding. */
  readonly pad: number;
  /** A dead token blocks all behind it, is padding alone, or is hashed like any other. */
  readonly dead: "sticky" | "alone" | "ignored";
  /** What happens to lookbacks before a chunk's start; null where chunks make no difference. */
  readonly chunks: {
    readonly size: number;
    /** Whether chunks are counted from each request's start or the file's. */
    readonly from: "request" | "file";
    readonly window: "lost" | "reversed";
  } | null;
  /** Of each layer, one for each lookback. */
  readonly multipliers: readonly (readonly bigint[])[];
  /** Whether products, or the value whose remainder is taken, pass through doubles. */
  readonly arithmetic: "exact" | "double products" | "double remainder";
  /** Of each layer and column, n-gram major. */
  readonly primes: readonly (readonly number[])[];
  /** First row of each layer's columns. */
  readonly starts: readonly (readonly number[])[];
  /** Longest n-gram. */
  readonly maxNgramSize: number;
  /** Heads for each n-gram size. */
  readonly nHeads: number;
}

/** The rules as they are. */
export function trueRules(
  { layout, tokenMap, compressedPadId }: Pick<Constants, "layout" | "tokenMap" | "compressedPadId">,
): HashRules {
  return {
    map: tokenMap.map,
    pad: compressedPadId,
    dead: "sticky",
    chunks: null,
    multipliers: layout.layers.map(({ multipliers }) => multipliers),
    arithmetic: "exact",
    primes: layout.layers.map(({ primes }) => primes.flat()),
    starts: layout.layers.map(({ offsets }) => offsets),
    maxNgramSize: layout.maxNgramSize,
    nHeads: layout.nHeads,
  };
}

/**
 * Row numbers of a sample by any rules, float64 [tokens without lead, layers, columns]. BigInt, and
 * slow: the hash itself is `NgramHasher`.
 */
export function hashByRules(rules: HashRules, sample: TokenSample): Float64Array {
  const { multipliers, primes, starts, maxNgramSize, nHeads, arithmetic } = rules;
  const columns = (maxNgramSize - 1) * nHeads;
  const tokens = sample.tokenIds.length - sample.lead;
  const out = new Float64Array(tokens * multipliers.length * columns);
  let at = 0;
  for (let token = sample.lead; token < sample.tokenIds.length; token++) {
    const sources = sourcesOf(rules, sample, token);
    for (let layer = 0; layer < multipliers.length; layer++) {
      let rolling = 0n;
      for (let back = 0, column = 0; back < maxNgramSize; back++) {
        const multiplier = multipliers[layer][back];
        rolling ^= arithmetic === "double products"
          ? BigInt.asIntN(64, BigInt(sources[back] * Number(multiplier)))
          : BigInt.asIntN(64, BigInt(sources[back]) * multiplier);
        if (back === 0) continue;
        for (let head = 0; head < nHeads; head++, column++) {
          out[at++] = remainder(rolling, primes[layer][column], arithmetic) + starts[layer][column];
        }
      }
    }
  }
  return out;
}

function remainder(value: bigint, prime: number, arithmetic: HashRules["arithmetic"]): number {
  const rest = arithmetic === "double remainder"
    ? Number(value) % prime
    : Number(value % BigInt(prime));
  return rest < 0 ? rest + prime : rest;
}

/** What each lookback of a token hashes. */
function sourcesOf(rules: HashRules, sample: TokenSample, token: number): number[] {
  const { map, pad, dead, chunks, maxNgramSize } = rules;
  const { tokenIds, positions, first, lead } = sample;
  const position = positions[token];
  const counted = chunks?.from === "file" ? first + token - lead : position;
  const inChunk = chunks ? Math.min(counted % chunks.size, position) : Infinity;
  const sources: number[] = [];
  let blocked = false;
  for (let back = 0; back < maxNgramSize; back++) {
    let behind: number | null = back;
    if (back > inChunk) {
      // The window holds the tokens before the chunk, nearest first, and -1 where there are none.
      const place = back - inChunk - 1;
      const depth = maxNgramSize - 1;
      behind = chunks!.window === "lost" ? null : inChunk + 1 + (depth - 1 - place);
      if (behind !== null && behind > position) behind = null;
      if (back > position) blocked = true;
    } else if (back > position) blocked = true;
    if (blocked || behind === null) {
      sources.push(pad);
      continue;
    }
    const index = token - behind;
    if (sample.dead[index] && dead !== "ignored") {
      if (dead === "sticky") blocked = true;
      sources.push(pad);
    } else sources.push(map[tokenIds[index]]);
  }
  return sources;
}
