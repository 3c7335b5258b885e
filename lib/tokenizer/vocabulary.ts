import { EngramError } from "../errors.ts";
import type { TokenizerSpec } from "./tokenizer.ts";

/** Token strings by id, as the reference numbers them. */
export interface Vocabulary {
  /** Number of distinct tokens, added ones included. */
  readonly tokens: number;
  /** The token of an id; undefined for a hole. */
  token(id: number): string | undefined;
}

/**
 * Numbers a tokenizer's tokens. An added token that the model's vocabulary holds has the model's
 * id; every other gets the next free one in the file's order. The ids that the file writes beside
 * added tokens are not what the reference uses, and so are not used here.
 */
export function readVocabulary(spec: TokenizerSpec, name: string): Vocabulary {
  const ids = modelIds(spec, name);
  const byId: (string | undefined)[] = [];
  for (const [token, id] of ids) byId[id] = token;
  const modelSize = spec.model.type === "Unigram"
    ? (spec.model.vocab as unknown[]).length
    : ids.size;
  const added = new Set<string>();
  let next = modelSize;
  for (const { content } of spec.addedTokens) {
    if (content === "" || added.has(content)) continue;
    added.add(content);
    let id = ids.get(content);
    if (id === undefined) ids.set(content, id = next);
    if (id >= next) next = id + 1;
    byId[id] = content;
  }
  return { tokens: ids.size, token: (id) => byId[id] };
}

function modelIds(spec: TokenizerSpec, name: string): Map<string, number> {
  const { vocab, type } = spec.model;
  if (type === "Unigram") return unigramIds(vocab, name);
  if (typeof vocab !== "object" || vocab === null || Array.isArray(vocab)) {
    throw malformed(name, `the ${type} model's "vocab" is not an object of tokens to ids`);
  }
  const ids = new Map<string, number>();
  const seen = new Set<number>();
  for (const [token, id] of Object.entries(vocab)) {
    if (!Number.isInteger(id) || id < 0 || id > 0x7fffffff) {
      throw malformed(name, `token ${JSON.stringify(token)} has the id ${JSON.stringify(id)}`);
    }
    if (seen.has(id)) throw malformed(name, `two tokens have the id ${id}`);
    seen.add(id);
    ids.set(token, id);
  }
  return ids;
}

function unigramIds(vocab: unknown, name: string): Map<string, number> {
  if (!Array.isArray(vocab)) throw malformed(name, `the Unigram model's "vocab" is not a list`);
  return new Map(vocab.map((entry, id) => {
    if (!Array.isArray(entry) || typeof entry[0] !== "string" || typeof entry[1] !== "number") {
      throw malformed(name, `entry ${id} of the Unigram model's "vocab" is not [token, score]`);
    }
    return [entry[0], id];
  }));
}

function malformed(name: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot read tokenizer \`${name}\`: ${found}`, {
    where: name,
  });
}
