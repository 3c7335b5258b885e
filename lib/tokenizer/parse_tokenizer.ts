import type { Encoder, EncoderOpener } from "./encoder.ts";
import { parseSpec } from "./parse_spec.ts";
import { NO_TOKENS, tokensAround } from "./tokens_around.ts";
import { tokenDecoder } from "./token_decoder.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { readVocabulary } from "./vocabulary.ts";

/**
 * Makes a tokenizer from the text of a `tokenizer.json`; `name` is for messages, `open` is called
 * at the first text to be encoded. Throws an `EngramError` where it is no tokenizer.
 */
export async function parseTokenizer(
  json: string,
  name: string,
  open: EncoderOpener,
): Promise<Tokenizer> {
  const spec = parseSpec(json, name);
  const vocabulary = readVocabulary(spec, name);
  const decode = await tokenDecoder(spec.decoder, name);
  let encoder: Promise<Encoder> | undefined;
  const encodeBatch = async (texts: readonly string[]) =>
    await (await (encoder ??= open(json, spec, name))).encodeBatch(texts);
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
    async encode(text, { specialTokens = true } = {}) {
      const around = specialTokens ? tokensAround(spec, name) : NO_TOKENS;
      const [ids] = await encodeBatch([text]);
      const whole = new Int32Array(around.before.length + ids.length + around.after.length);
      whole.set(around.before);
      whole.set(ids, around.before.length);
      whole.set(around.after, around.before.length + ids.length);
      return whole;
    },
  };
}
