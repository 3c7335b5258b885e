import type { IdChunk, IdSource } from "../lib/arrays/id_source.ts";
import { type Part, partRange } from "./part.ts";
import type { RawChunk, RawTokens } from "./raw_tokens.ts";

/** The tokens `part` covers, counted over all requests, and up to `depth` before them. */
export async function partOfIds(source: IdSource, part: Part, depth: number): Promise<RawTokens> {
  let total = 0;
  for await (const { ids } of source.chunks()) total += ids.length;
  const [begin, end] = partRange(total, part);
  const origin = { request: -1, position: 0 };
  let before: Pieces = [];
  let at = 0;
  for await (const chunk of source.chunks()) {
    const { ids, requestStart } = chunk;
    if (requestStart) {
      origin.request++;
      origin.position = 0;
      before = [];
      if (at >= begin) break;
    }
    const taken = Math.min(ids.length, begin - at);
    before = lastOf([...before, slice(chunk, 0, taken)], depth);
    origin.position += taken;
    at += ids.length;
    if (at > begin) break;
  }
  return {
    lead: { ...joined(before), requestStart: true, request: source.name },
    origin,
    read: () => between(source, begin, end, end === total),
    close: () => source.close(),
  };
}

type Pieces = { tokenIds: Int32Array; dead?: Uint8Array }[];

async function* between(
  source: IdSource,
  begin: number,
  end: number,
  last: boolean,
): AsyncGenerator<RawChunk> {
  let at = 0;
  try {
    for await (const chunk of source.chunks()) {
      const { ids, requestStart } = chunk;
      // A request belongs where its first token does; those without tokens at the very end, too.
      const begins = requestStart && at >= begin && (at < end || (last && at === end));
      const own = slice(chunk, Math.max(0, begin - at), Math.max(0, end - at));
      if (begins || own.tokenIds.length > 0) {
        yield { ...own, requestStart: begins, request: source.name };
      }
      at += ids.length;
      if (at > end) return;
    }
  } finally {
    source.close();
  }
}

function slice({ ids, dead }: IdChunk, begin: number, end: number): Pieces[number] {
  return { tokenIds: ids.subarray(begin, end), ...(dead && { dead: dead.subarray(begin, end) }) };
}

/** The pieces that hold the last `count` tokens, cut to them. */
function lastOf(pieces: Pieces, count: number): Pieces {
  const kept: Pieces = [];
  for (const { tokenIds, dead } of pieces.toReversed()) {
    const from = Math.max(0, tokenIds.length - count);
    kept.unshift({ tokenIds: tokenIds.subarray(from), ...(dead && { dead: dead.subarray(from) }) });
    count -= tokenIds.length - from;
    if (count === 0) break;
  }
  return kept;
}

function joined(pieces: Pieces): { tokenIds: Int32Array; dead: Uint8Array } {
  return {
    tokenIds: Int32Array.from(pieces.flatMap(({ tokenIds }) => [...tokenIds])),
    dead: Uint8Array.from(
      pieces.flatMap(({ tokenIds, dead }) => [...(dead ?? new Uint8Array(tokenIds.length))]),
    ),
  };
}
