import { EngramError } from "../errors.ts";
import type { Encoder } from "./encoder.ts";
import { nativeEncoder } from "./native_encoder.ts";
import { tokenDecoder } from "./token_decoder.ts";
import type { AddedToken, Part, Tokenizer, TokenizerSpec } from "./tokenizer.ts";
import { readVocabulary } from "./vocabulary.ts";

/** Makes a tokenizer from the text of a `tokenizer.json`; `name` is for messages. */
export async function parseTokenizer(json: string, name: string): Promise<Tokenizer> {
  const spec = parseSpec(json, name);
  const vocabulary = readVocabulary(spec, name);
  const decode = await tokenDecoder(spec.decoder, name);
  let encoder: Promise<Encoder> | undefined;
  const encodeBatch = async (texts: readonly string[]) =>
    await (await (encoder ??= nativeEncoder(json))).encodeBatch(texts);
  return {
    name,
    spec,
    tokens: vocabulary.tokens,
    rawToken: vocabulary.token,
    decodeOne: (id) => {
      const token = vocabulary.token(id);
      return token === undefined ? "" : decode(token);
    },
    encodeBatch,
    encode: async (text) => (await encodeBatch([text]))[0],
  };
}

function parseSpec(json: string, name: string): TokenizerSpec {
  let root: Record<string, unknown>;
  try {
    root = JSON.parse(json);
  } catch (cause) {
    throw new EngramError("malformed", `Cannot read tokenizer ${name}: ${(cause as Error).message}`, {
      where: name,
      cause,
    });
  }
  return {
    model: root.model as Part,
    addedTokens: (root.added_tokens ?? []) as AddedToken[],
    normalizer: root.normalizer as Part | null,
    preTokenizer: root.pre_tokenizer as Part | null,
    decoder: (root.decoder ?? null) as Part | null,
  };
}
