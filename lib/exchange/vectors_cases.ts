import { NgramHasher } from "../hash/ngram_hasher.ts";
import { StreamHasher } from "../hash/stream_hasher.ts";
import type { TensorEntry } from "../safetensors/writer.ts";
import type { Constants } from "./constants.ts";
import type { VectorTokens } from "./vectors_tokens.ts";

/** A file of vectors before it is written. */
export interface VectorCase {
  /** Its name. */
  readonly file: string;
  /** What is to be computed. */
  readonly says: string;
  /** Its arrays, each with what it is. */
  readonly arrays: readonly (TensorEntry & { readonly says: string })[];
}

/** Tokens of a chunk in the case of chunked decoding. */
export const CHUNK = 16;

const TOKENS = {
  token_ids: "input: token ids of all requests, one after another",
  dead: "input: 1 where a token takes no part in n-grams",
  starts: "input: first token of each request, and the number of tokens",
};

/** `token_ids`, `dead` and `starts`, as every file along tokens has them. */
export function tokenArrays(
  { tokenIds, dead, starts }: VectorTokens,
): (TensorEntry & { says: string })[] {
  const tokens = tokenIds.length;
  return [
    { name: "token_ids", dtype: "I32", shape: [tokens], data: tokenIds, says: TOKENS.token_ids },
    { name: "dead", dtype: "U8", shape: [tokens], data: dead, says: TOKENS.dead },
    {
      name: "starts",
      dtype: "I64",
      shape: [starts.length + 1],
      data: BigInt64Array.from([...starts, tokens], BigInt),
      says: TOKENS.starts,
    },
  ];
}

/** Row numbers of tokens [tokens, layers, columns]. */
export function vectorIds(
  constants: Constants,
  { tokenIds, dead, starts }: VectorTokens,
): Int32Array {
  const hasher = new NgramHasher(constants.layout, constants.compressedPadId);
  const { map } = constants.tokenMap;
  return new StreamHasher(hasher).push(tokenIds.map((id) => map[id]), dead, starts);
}

/** The cases that need no weights. */
export function hashCases(constants: Constants, tokens: VectorTokens): VectorCase[] {
  const alive = { ...tokens, dead: new Uint8Array(tokens.dead.length) };
  const long = longRequest(tokens);
  return [
    tokensCase(
      constants,
      "hash.safetensors",
      "Row numbers of the texts, each a request from position 0; no token is dead.",
      alive,
    ),
    tokensCase(
      constants,
      "hash_dead.safetensors",
      "The same with dead tokens: one hashes as padding only, and so does all behind it.",
      tokens,
    ),
    tokensCase(
      constants,
      "hash_chunked.safetensors",
      `One request in chunks of ${CHUNK} tokens, as prefill in chunks does; and again token by ` +
        "token, as decoding does. Row numbers must not depend on the chunks: what a chunk's first " +
        "tokens look back to comes from the window or the slot cache.",
      long,
    ),
    windowsCase(constants, tokens),
  ];
}

function tokensCase(
  constants: Constants,
  file: string,
  says: string,
  tokens: VectorTokens,
): VectorCase {
  const { layers, columns } = constants.layout;
  return {
    file,
    says,
    arrays: [...tokenArrays(tokens), {
      name: "hash_ids",
      dtype: "I32",
      shape: [tokens.tokenIds.length, layers.length, columns],
      data: vectorIds(constants, tokens),
      says: "output: rows of each token [tokens, layers, columns]",
    }],
  };
}

/** All texts as one request, with dead tokens. */
function longRequest({ tokenIds, dead }: VectorTokens): VectorTokens {
  return { tokenIds, dead, starts: [0] };
}

/** A batch as a serving engine has it: chunks in the middle of requests, with what is known of before. */
function windowsCase(constants: Constants, { tokenIds, dead }: VectorTokens): VectorCase {
  const { layout, tokenMap: { map }, compressedPadId } = constants;
  const depth = layout.maxNgramSize - 1;
  const compressed = tokenIds.map((id) => map[id]);
  // Chunks of 1, 2, … tokens at growing places: windows whole, then cut short, then with dead ones.
  const chunks = [0, 1, 5, 17, 23, 30, 41, 52].map((start, i) => ({ start, length: 1 + i % 5 }))
    .filter(({ start, length }) => start + length <= tokenIds.length);
  const ids = chunks.flatMap((
    { start, length },
  ) => [...compressed.subarray(start, start + length)]);
  const positions = chunks.flatMap(({ start, length }) =>
    Array.from({ length }, (_, i) => start + i)
  );
  let end = 0;
  const bounds = [0, ...chunks.map(({ length }) => end += length)];
  const window: number[] = [];
  const windowDead: number[] = [];
  chunks.forEach(({ start }, i) => {
    for (let back = 0; back < depth; back++) {
      const at = start - 1 - back;
      const unknown = at < 0 || i % 3 === 2 && back === depth - 1;
      window.push(unknown ? -1 : compressed[at]);
      windowDead.push(unknown || i % 2 === 0 ? 0 : dead[at]);
    }
  });
  const isDead = Uint8Array.from(
    chunks.flatMap(({ start, length }) => [...dead.subarray(start, start + length)]),
  );
  const batch = {
    ids: Int32Array.from(ids),
    positions: Float64Array.from(positions),
    starts: Int32Array.from(bounds),
    dead: isDead,
    window: Int32Array.from(window),
    windowDead: Uint8Array.from(windowDead),
    windowDepth: depth,
  };
  const tokens = ids.length;
  const requests = chunks.length;
  return {
    file: "windows.safetensors",
    says: "A batch of chunks that begin inside their requests, with the window of tokens before " +
      "each. An unknown token hashes as padding and blocks nothing; a dead one blocks.",
    arrays: [
      {
        name: "compressed_ids",
        dtype: "I32",
        shape: [tokens],
        data: batch.ids,
        says: "input: compressed ids of the batch's tokens",
      },
      {
        name: "positions",
        dtype: "I64",
        shape: [tokens],
        data: BigInt64Array.from(positions, BigInt),
        says: "input: position of each token in its request",
      },
      {
        name: "query_start_loc",
        dtype: "I32",
        shape: [requests + 1],
        data: batch.starts,
        says: "input: first token of each request in the batch, and the number of tokens",
      },
      {
        name: "dead_mask",
        dtype: "U8",
        shape: [tokens],
        data: isDead,
        says: "input: 1 where a token takes no part in n-grams",
      },
      {
        name: "lookback_token_ids",
        dtype: "I32",
        shape: [requests, depth],
        data: batch.window,
        says: "input: compressed ids before each chunk, nearest first; -1 where unknown",
      },
      {
        name: "lookback_dead_mask",
        dtype: "U8",
        shape: [requests, depth],
        data: batch.windowDead,
        says: "input: 1 where a token before the chunk takes no part",
      },
      {
        name: "hash_ids",
        dtype: "I32",
        shape: [tokens, layout.layers.length, layout.columns],
        data: new NgramHasher(layout, compressedPadId).hash(batch),
        says: "output: rows of each token [tokens, layers, columns]",
      },
    ],
  };
}
