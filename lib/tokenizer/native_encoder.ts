import { EngramError } from "../errors.ts";
import { quote } from "../safetensors/quote.ts";
import type { Encoder } from "./encoder.ts";
import type { TokenizerSpec } from "./tokenizer.ts";

/**
 * The reference library itself, as a native addon; it spreads a batch over all cores.
 * Null where the addon cannot be loaded: another platform, or without Deno's read, env and ffi
 * permissions. Throws an `EngramError` where the reference refuses the tokenizer.
 */
export async function nativeEncoder(
  json: string,
  spec: TokenizerSpec,
  name: string,
): Promise<Encoder | null> {
  let library: typeof import("@anush008/tokenizers");
  try {
    library = await import("@anush008/tokenizers");
  } catch {
    return null;
  }
  if (spec.model.dropout) {
    throw new EngramError(
      "malformed",
      `Cannot encode with tokenizer \`${name}\`: its model's dropout ${spec.model.dropout} ` +
        "makes ids random",
      { where: name, hint: 'Set "dropout" of the model to null' },
    );
  }
  let native: InstanceType<typeof library.Tokenizer>;
  try {
    native = library.Tokenizer.fromString(json);
  } catch (cause) {
    throw new EngramError(
      "malformed",
      `Cannot encode with tokenizer \`${name}\`: the reference library refuses it ` +
        `(${(cause as Error).message})`,
      { where: name },
    );
  }
  // The file's own truncation and padding are for training batches; they would change the ids.
  native.disableTruncation();
  native.disablePadding();
  const normalizer = native.getNormalizer();
  for (const { content, normalized } of spec.addedTokens) {
    // The library would match it between any two bytes and abort.
    if (content !== "" && normalized && normalizer?.normalizeString(content) === "") {
      throw new EngramError(
        "malformed",
        `Cannot encode with tokenizer \`${name}\`: its added token ${
          quote(content)
        } normalizes to ` +
          "nothing",
        { where: name, hint: `Set "normalized" of that token to false` },
      );
    }
  }
  const aborts = abortingText(spec);
  return {
    async encodeBatch(texts) {
      if (aborts && texts.some((text) => aborts.test(text))) throw abort(name);
      const encodings = await native.encodeBatch([...texts], { addSpecialTokens: false });
      return encodings.map((encoding) => Int32Array.from(encoding.getIds()));
    },
  };
}

/**
 * Texts that the reference library aborts on, taking the whole program with it: an added token
 * strips white space to its right while another begins with white space. Null for most tokenizers.
 */
function abortingText({ addedTokens }: TokenizerSpec): RegExp | null {
  if (!addedTokens.some(({ content }) => /^\s/.test(content))) return null;
  const strips = addedTokens.filter(({ rstrip, content }) => rstrip && content !== "");
  if (strips.length === 0) return null;
  const contents = strips.map(({ content }) => content.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&"));
  return new RegExp(`(?:${contents.join("|")})\\s`, "iu");
}

function abort(name: string): EngramError {
  return new EngramError(
    "malformed",
    `Cannot encode with tokenizer \`${name}\`: the text holds an added token that strips the white ` +
      "space after it, and another begins with white space; the reference library fails on that",
    { where: name, hint: "Take that token out of the text, or mend its rstrip in the tokenizer" },
  );
}
