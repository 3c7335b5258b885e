import { EngramError } from "../errors.ts";
import { quote } from "../safetensors/quote.ts";
import { flatten } from "./flatten.ts";
import type { Part, TokenizerSpec } from "./tokenizer.ts";

/** Token ids that stand before and after every text. */
export interface TokensAround {
  /** Before it, such as a beginning-of-text token. */
  readonly before: readonly number[];
  /** After it, such as a separator. */
  readonly after: readonly number[];
}

/** Nothing before and after. */
export const NO_TOKENS: TokensAround = { before: [], after: [] };

/**
 * The special tokens that a tokenizer's post-processor puts around a text by itself, as the reference
 * library does unless it is told otherwise.
 *
 * @throws an {@linkcode EngramError} naming a part that is not understood.
 */
export function tokensAround({ postProcessor }: TokenizerSpec, name: string): TokensAround {
  const wrapping = flatten(postProcessor, "processors").map((part) => tokensOf(part, name))
    .filter(({ before, after }) => before.length + after.length > 0);
  if (wrapping.length > 1) throw fault(name, "it has several parts that add special tokens");
  return wrapping[0] ?? NO_TOKENS;
}

function tokensOf(part: Part, name: string): TokensAround {
  switch (part.type) {
    case "ByteLevel":
      return NO_TOKENS;
    case "BertProcessing":
    case "RobertaProcessing":
      return { before: [pairId(part, "cls", name)], after: [pairId(part, "sep", name)] };
    case "TemplateProcessing":
      return template(part, name);
    default:
      throw fault(name, `its part ${quote(part.type)} is not known`);
  }
}

/** A token as `[text, id]`. */
function pairId(part: Part, key: string, name: string): number {
  const pair = part[key];
  if (Array.isArray(pair) && isId(pair[1])) return pair[1];
  throw fault(
    name,
    `the "${key}" of its ${part.type} is ${quote(JSON.stringify(pair) ?? "missing")}`,
  );
}

/** `single` lists the special tokens and, once, the text. */
function template({ single, special_tokens: tokens }: Part, name: string): TokensAround {
  const before: number[] = [];
  const after: number[] = [];
  let texts = 0;
  for (const piece of Array.isArray(single) ? single : []) {
    const text = piece?.Sequence?.id;
    const special = piece?.SpecialToken?.id;
    if (text === "A") {
      texts++;
      continue;
    }
    const ids = typeof special === "string" && Object.hasOwn(Object(tokens), special)
      ? (tokens as Record<string, { ids?: unknown }>)[special]?.ids
      : null;
    if (!Array.isArray(ids) || !ids.every(isId)) {
      throw fault(name, `its template holds ${quote(JSON.stringify(piece) ?? "nothing")}`);
    }
    (texts === 0 ? before : after).push(...ids);
  }
  if (texts !== 1) throw fault(name, `its template holds the text ${texts} times, wanted once`);
  return { before, after };
}

function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

function fault(name: string, found: string): EngramError {
  return new EngramError(
    "malformed",
    `Cannot encode with the post-processor of tokenizer \`${name}\`: ${found}`,
    { where: name, hint: "Leave special tokens out: `--no-special-tokens`" },
  );
}
