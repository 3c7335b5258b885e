/** A loaded `tokenizer.json`: ids to strings at once, text to ids by an encoder opened on first use. */
export interface Tokenizer {
  /** The file it came from, for messages. */
  readonly name: string;
  /** Number of distinct tokens, added ones included: the reference's `len(tokenizer)`. */
  readonly tokens: number;
  /** The token as the vocabulary spells it; undefined for an id that no token has. */
  rawToken(id: number): string | undefined;
  /** The text of one id alone, special tokens kept; empty for an id that no token has. */
  decodeOne(id: number): string;
  /**
   * Token ids of a text as the reference library gives them: with the special tokens that the
   * tokenizer's post-processor puts around it, unless `specialTokens` is false.
   */
  encode(text: string, options?: { specialTokens?: boolean }): Promise<Int32Array>;
  /** Token ids of many texts, each by itself, without special tokens, on all cores. */
  encodeBatch(texts: readonly string[]): Promise<Int32Array[]>;
  /** What text is cut by, for streaming: see `encodeStream`. */
  readonly spec: TokenizerSpec;
}

/** The parts of a `tokenizer.json`, checked only as far as their outline. */
export interface TokenizerSpec {
  /** The model: `type`, `vocab` and its settings. */
  readonly model: Part;
  /** Added tokens in the file's order. */
  readonly addedTokens: readonly AddedToken[];
  /** The normalizer, null when there is none. */
  readonly normalizer: Part | null;
  /** The pre-tokenizer, null when there is none. */
  readonly preTokenizer: Part | null;
  /** The decoder, null when there is none. */
  readonly decoder: Part | null;
  /** What puts special tokens around a text, null when nothing does. */
  readonly postProcessor: Part | null;
}

/** One part of a `tokenizer.json`: an object with a `type`. */
export interface Part {
  /** The part's kind, such as `ByteLevel`. */
  readonly type: string;
  /** Its settings. */
  readonly [setting: string]: unknown;
}

/** A token matched in the text before the model sees it. */
export interface AddedToken {
  /** The text it matches. */
  readonly content: string;
  /** Matches only between non-word characters. */
  readonly single_word: boolean;
  /** Takes the white space before it. */
  readonly lstrip: boolean;
  /** Takes the white space after it. */
  readonly rstrip: boolean;
  /** Matches the normalized text. */
  readonly normalized: boolean;
  /** A control token. */
  readonly special: boolean;
}
