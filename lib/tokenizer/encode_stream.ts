import type { Tokenizer, TokenizerSpec } from "./tokenizer.ts";
import { type CutRule, cutRule } from "./cut_rule.ts";
import { NO_TOKENS, tokensAround } from "./tokens_around.ts";
import { utf8Text } from "./utf8_text.ts";

/** Options of {@linkcode encodeStream}. */
export interface EncodeStreamOptions {
  /** Name of the text, for messages. */
  readonly name: string;
  /** Characters a piece has at least before it is cut. */
  readonly pieceLength?: number;
  /** Pieces encoded at once, spread over all cores. */
  readonly batch?: number;
  /** False leaves out the special tokens that the post-processor puts around a text. */
  readonly specialTokens?: boolean;
}

/**
 * Encodes a UTF-8 text as it comes, on all cores and in constant memory, to exactly the ids of the
 * whole text encoded in one piece. Where a tokenizer gives no provable place to cut, the text is
 * gathered and encoded whole. Yields token ids in order, in chunks of any length.
 * Throws an `EngramError` with the byte offset where the text is not UTF-8.
 */
export async function* encodeStream(
  tokenizer: Tokenizer,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { name, pieceLength = 16384, batch = 64, specialTokens = true }: EncodeStreamOptions,
): AsyncGenerator<Int32Array> {
  const around = specialTokens ? tokensAround(tokenizer.spec, tokenizer.name) : NO_TOKENS;
  if (around.before.length > 0) yield Int32Array.from(around.before);
  let pending: Promise<Int32Array[]> | null = null;
  let pieces: string[] = [];
  for await (const piece of textPieces(tokenizer, utf8Text(bytes, name), pieceLength)) {
    pieces.push(piece);
    if (pieces.length < batch) continue;
    const next = tokenizer.encodeBatch(pieces);
    pieces = [];
    // The next batch is at work while the consumer takes this one.
    if (pending) yield* await settled(pending, next);
    pending = next;
  }
  if (pending) yield* await pending;
  if (pieces.length > 0) yield* await tokenizer.encodeBatch(pieces);
  if (around.after.length > 0) yield Int32Array.from(around.after);
}

/** Waits for `first`; a failure of `second` meanwhile must not go unhandled. */
async function settled<T>(first: Promise<T>, second: Promise<unknown>): Promise<T> {
  second.catch(() => {});
  return await first;
}

/** Rules are found once for each tokenizer: that reads its whole vocabulary. */
const rules = new WeakMap<TokenizerSpec, Promise<CutRule | null>>();

async function* textPieces(
  { spec }: Tokenizer,
  texts: AsyncIterable<string>,
  pieceLength: number,
): AsyncGenerator<string> {
  let found = rules.get(spec);
  if (!found) rules.set(spec, found = cutRule(spec));
  const rule = await found;
  let text = "";
  const waiting: string[] = [];
  let searched = 0;
  for await (const more of texts) {
    if (!rule) {
      waiting.push(more);
      continue;
    }
    text += more;
    let begin = 0;
    for (;;) {
      const from = Math.max(begin + pieceLength, searched);
      // The last characters stay until what follows them is known.
      const cut = from < text.length ? rule.find(text, from) : null;
      if (!cut || cut.begin + LOOK_AHEAD > text.length) {
        searched = Math.max(searched, text.length - LOOK_AHEAD);
        break;
      }
      yield text.slice(begin, cut.end);
      begin = cut.begin;
    }
    text = text.slice(begin);
    searched = Math.max(0, searched - begin);
  }
  if (!rule) text = waiting.join("");
  if (text !== "") yield text;
}

/** Characters after a cut that decide whether it is one. */
const LOOK_AHEAD = 4;
