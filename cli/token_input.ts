import type { Checkpoint } from "../lib/checkpoint/checkpoint.ts";
import { EngramError } from "../lib/errors.ts";
import { buildLayout } from "../lib/layout/build_layout.ts";
import type { Layout } from "../lib/layout/layout.ts";
import type { TokenMap } from "../lib/tokenizer/token_map.ts";
import type { Tokenizer } from "../lib/tokenizer/tokenizer.ts";
import type { Context } from "./command.ts";
import { noteTokenizer } from "./note_tokenizer.ts";
import type { Printer } from "./printer.ts";
import { type RawChunk, type RawTokens, rawTokens } from "./raw_tokens.ts";
import type { TokenOptions } from "./token_options.ts";

/** Some tokens of one request, in order. */
export interface TokenChunk {
  /** Token ids [n]; every one is on the map. */
  readonly tokenIds: Int32Array;
  /** Their compressed ids [n]. */
  readonly compressedIds: Int32Array;
  /** 1 where the token takes no part in n-grams [n]. */
  readonly dead: Uint8Array;
  /** Whether a request begins with this chunk; one without tokens is a chunk of length 0. */
  readonly requestStart: boolean;
  /** What the request was read from: a file's path or `standard input`. */
  readonly request: string;
}

/** Where a part of the tokens begins. */
export interface PartStart {
  /** The number of the first token's request, from 0. */
  readonly request: number;
  /** The first token's position in it. */
  readonly position: number;
  /** The tokens before it that its n-grams reach back to; null where a request begins. */
  readonly lead: TokenChunk | null;
}

/**
 * A command's tokens, from `--text` or `--ids`, with the map and layout they are hashed by; all
 * checked against the checkpoint's config. This is the one way tokens come into the command line:
 *
 * ```ts ignore
 * const input = await openTokenInput(options, checkpoint, context);
 * const stream = new StreamHasher(new NgramHasher(input.layout, input.padId));
 * for await (const chunk of input.chunks()) {
 *   if (chunk.requestStart) stream.reset();
 *   const rows = stream.push(chunk.compressedIds, chunk.dead);
 * }
 * ```
 */
export interface TokenInput {
  /** The token map: its size is the config's. */
  readonly map: TokenMap;
  /** The layout the map and config make. */
  readonly layout: Layout;
  /** Compressed id of the config's padding token. */
  readonly padId: number;
  /** Token ids that take no part: the config's and those of `--dead-token`. */
  readonly deadTokenIds: ReadonlySet<number>;
  /** The tokenizer; null where only a map was given and ids were read. */
  readonly tokenizer: Tokenizer | null;
  /** Where the tokens begin: not at 0 where only a `--part` of them was asked for. */
  readonly partStart: PartStart;
  /**
   * Begins the tokens; they can be read once. Memory stays constant whatever their number, and
   * chunks of a long request come in any lengths. Draws a progress bar where the size is known.
   */
  chunks(): AsyncGenerator<TokenChunk>;
}

/**
 * Opens the tokens that `options` name.
 *
 * @throws an {@linkcode EngramError}: `usage` unless exactly one of --text and --ids is given,
 * `unavailable` where no tokenizer is known, `mismatch` where the map is not the config's size.
 */
export async function openTokenInput(
  options: TokenOptions,
  checkpoint: Pick<Checkpoint, "config" | "tokenizerPath" | "place">,
  context: Pick<Context, "signal" | "progress"> & { readonly printer: Pick<Printer, "note"> },
): Promise<TokenInput> {
  checkOptions(options);
  if (options.text !== undefined) noteTokenizer(context.printer);
  const { config } = checkpoint;
  // A file that is not there is found out before the tokenizer is loaded.
  const raw = await rawTokens(options, config.maxNgramSize - 1, context);
  try {
    return await prepare(options, checkpoint, raw, context.signal);
  } catch (error) {
    raw.close();
    throw error;
  }
}

async function prepare(
  options: TokenOptions,
  checkpoint: Pick<Checkpoint, "config" | "tokenizerPath" | "place">,
  raw: RawTokens,
  signal: AbortSignal,
): Promise<TokenInput> {
  const { config } = checkpoint;
  const { tokenizer, map } = await loadVocabulary(options, checkpoint);
  const layout = buildLayout(config, map.compressedVocabSize);
  if (config.padTokenId >= map.map.length) {
    throw new EngramError(
      "mismatch",
      `Cannot use the token map: engram_pad_token_id ${config.padTokenId} of ${config.where} ` +
        `is not on it, wanted below ${map.map.length}`,
      { where: config.where },
    );
  }
  const deadTokenIds = new Set([...config.deadTokenIds, ...(options.deadToken ?? [])]);
  const { lead, origin } = raw;
  return {
    map,
    layout,
    padId: map.map[config.padTokenId],
    deadTokenIds,
    tokenizer,
    partStart: { ...origin, lead: lead && compress(lead, 0, map.map, deadTokenIds) },
    chunks: () => compressAll(raw.read(tokenizer), origin.position, map.map, deadTokenIds, signal),
  };
}

function checkOptions({ text, ids, map, tokenizer }: TokenOptions): void {
  if ((text === undefined) === (ids === undefined)) {
    const found = text ? "both --text and --ids" : "neither --text nor --ids";
    throw new EngramError("usage", `Cannot tell what the tokens are: found ${found}, wanted one`, {
      hint: "Give --text FILE… to tokenize texts, or --ids FILE to read token ids",
    });
  }
  if (ids !== undefined && map !== undefined && tokenizer !== undefined) {
    throw new EngramError(
      "usage",
      "Cannot use both --tokenizer and --map: token ids need one of them, and two could disagree",
    );
  }
}

/** The map, and the tokenizer where one is needed: for texts, or to make the map. */
async function loadVocabulary(
  options: TokenOptions,
  { tokenizerPath, place }: Pick<Checkpoint, "tokenizerPath" | "place">,
): Promise<{ tokenizer: Tokenizer | null; map: TokenMap }> {
  const saved = options.map === undefined
    ? null
    : await (await import("../lib/tokenizer/saved_map.ts")).readTokenMap(options.map);
  if (saved && options.ids !== undefined) return { tokenizer: null, map: saved };

  const path = options.tokenizer ?? tokenizerPath;
  if (path === null) {
    throw new EngramError(
      "unavailable",
      `Cannot find a tokenizer: \`${place}\` has no tokenizer.json beside it`,
      { where: place, hint: "Name the model's tokenizer with --tokenizer PATH" },
    );
  }
  const { loadTokenizer } = await import("../lib/tokenizer/load_tokenizer.ts");
  const tokenizer = await loadTokenizer(path);
  if (!saved) {
    const { buildTokenMap } = await import("../lib/tokenizer/token_map.ts");
    return { tokenizer, map: buildTokenMap(tokenizer) };
  }
  if (saved.map.length !== tokenizer.tokens) {
    throw new EngramError(
      "mismatch",
      `Cannot use map \`${options.map}\`: it maps ${saved.map.length} tokens, ` +
        `wanted ${tokenizer.tokens}, the tokens of ${tokenizer.name}`,
      { where: options.map! },
    );
  }
  return { tokenizer, map: saved };
}

async function* compressAll(
  chunks: AsyncIterable<RawChunk>,
  position: number,
  map: Int32Array,
  deadTokenIds: ReadonlySet<number>,
  signal: AbortSignal,
): AsyncGenerator<TokenChunk> {
  for await (const chunk of chunks) {
    if (signal.aborted) throw new EngramError("interrupted", "Interrupted");
    if (chunk.requestStart) position = 0;
    yield compress(chunk, position, map, deadTokenIds);
    position += chunk.tokenIds.length;
  }
}

/** Looks the ids up; `position` is that of the first. */
function compress(
  { tokenIds, dead: marked, requestStart, request }: RawChunk,
  position: number,
  map: Int32Array,
  deadTokenIds: ReadonlySet<number>,
): TokenChunk {
  const compressedIds = new Int32Array(tokenIds.length);
  const dead = new Uint8Array(tokenIds.length);
  for (let i = 0; i < tokenIds.length; i++) {
    const id = tokenIds[i];
    if (id < 0 || id >= map.length) {
      throw new EngramError(
        "malformed",
        `Cannot take the tokens of ${request}: token id ${id} at position ${position + i} ` +
          `is not on the token map, wanted from 0, below ${map.length}`,
        { where: request, hint: "The ids are of another tokenizer, or the map is" },
      );
    }
    compressedIds[i] = map[id];
    if (marked?.[i] || deadTokenIds.has(id)) dead[i] = 1;
  }
  return { tokenIds, compressedIds, dead, requestStart, request };
}
