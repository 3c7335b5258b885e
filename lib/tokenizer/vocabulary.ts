import { EngramError } from "../errors.ts";
import { quote } from "../safetensors/quote.ts";
import type { TokenizerSpec } from "./tokenizer.ts";

/** Token strings by id, as the reference numbers them. */
export interface Vocabulary {
  /** Number of distinct tokens, added ones included. */
  readonly tokens: number;
  /** The token of an id; undefined for a hole. */
  token(id: number): string | undefined;
  /** The id of a token. */
  id(token: string): number | undefined;
}

/**
 * Numbers a tokenizer's tokens. An added token that the model's vocabulary holds has the model's
 * id; every other gets the next one after the model's size, in the file's order. The ids that the file writes beside
 * added tokens are not what the reference uses, and so are not used here.
 */
export function readVocabulary(spec: TokenizerSpec, name: string): Vocabulary {
  const { ids, byId, size } = spec.model.type === "Unigram"
    ? listedTokens(spec.model.vocab, name)
    : numberedTokens(spec.model.vocab, name);
  let next = size;
  const seen = new Set<string>();
  for (const { content, single_word, lstrip, rstrip, normalized, special } of spec.addedTokens) {
    const whole = JSON.stringify([content, single_word, lstrip, rstrip, normalized, special]);
    if (content === "" || seen.has(whole)) continue;
    seen.add(whole);
    let id = ids.get(content);
    if (id === undefined) ids.set(content, id = next++);
    byId[id] = content;
  }
  return { tokens: ids.size, token: (id) => byId[id], id: (token) => ids.get(token) };
}

/** A model's own tokens. */
interface ModelTokens {
  readonly ids: Map<string, number>;
  readonly byId: (string | undefined)[];
  readonly size: number;
}

/** A vocabulary that gives each token its id; there may be holes. */
function numberedTokens(vocab: unknown, name: string): ModelTokens {
  if (typeof vocab !== "object" || vocab === null || Array.isArray(vocab)) {
    throw malformed(name, `the model's "vocab" is not an object of tokens to ids`);
  }
  const ids = new Map<string, number>();
  const byId: (string | undefined)[] = [];
  for (const [token, id] of Object.entries(vocab)) {
    if (!Number.isInteger(id) || id < 0 || id > MOST_ID) {
      throw malformed(name, `token ${quote(token)} has the id ${id}, wanted 0 to ${MOST_ID}`);
    }
    if (byId[id] !== undefined) {
      throw malformed(name, `tokens ${quote(byId[id])} and ${quote(token)} have the id ${id}`);
    }
    byId[id] = token;
    ids.set(token, id);
  }
  return { ids, byId, size: ids.size };
}

/** Far above any vocabulary; an id near 2^32 would only be a damaged file. */
const MOST_ID = 2 ** 28;

/** A Unigram vocabulary: ids are places in a list, and of equal tokens the last one counts. */
function listedTokens(vocab: unknown, name: string): ModelTokens {
  if (!Array.isArray(vocab)) throw malformed(name, `the Unigram model's "vocab" is not a list`);
  const byId = vocab.map((entry, id) => {
    if (Array.isArray(entry) && typeof entry[0] === "string" && typeof entry[1] === "number") {
      return entry[0];
    }
    throw malformed(name, `entry ${id} of the Unigram model's "vocab" is not [token, score]`);
  });
  return { ids: new Map(byId.map((token, id) => [token, id])), byId, size: byId.length };
}

function malformed(name: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot read tokenizer \`${name}\`: ${found}`, {
    where: name,
  });
}
