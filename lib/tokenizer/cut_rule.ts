import { flatten } from "./flatten.ts";
import { GPT2_PATTERN } from "./gpt2_pattern.ts";
import { regexCut } from "./regex_cut.ts";
import type { Part, TokenizerSpec } from "./tokenizer.ts";
import { isAssigned } from "./unicode.ts";

/** Where a text can be cut so that its pieces, encoded apart, give the ids of the whole. */
export interface CutRule {
  /** The first cut at or after `from` that leaves text on both sides; null when there is none. */
  find(text: string, from: number): Cut | null;
}

/** One cut: the left piece ends before `end`, the right one begins at `begin`. */
export interface Cut {
  /** End of the left piece. */
  readonly end: number;
  /** Begin of the right piece: `end`, or one more where the tokenizer puts the space back itself. */
  readonly begin: number;
}

/**
 * Finds out where a tokenizer's text can be cut: before a space or line feed that follows `a`, where
 * every stage provably treats both sides alike. Null when no such place can be proven; the text has
 * then to be encoded whole.
 *
 * The proof, stage by stage: no added token spans the cut or reaches over it; normalizing leaves `a`
 * and the space in place; the pre-tokenizer always splits there; or, without one, no token of a BPE
 * vocabulary holds that pair, so that no merge ever crosses it.
 */
export async function cutRule(spec: TokenizerSpec): Promise<CutRule | null> {
  const added = addedTokenRule(spec);
  const normalizer = await normalizerRule(spec);
  if (!added || !normalizer) return null;
  const breaks: string[] = [];
  const tests = new Map<string, (a: string) => boolean>();
  for (const b of normalizer.keepsLineFeed ? [" ", "\n"] : [" "]) {
    const splits = await splitRule(spec, b, normalizer.space(b));
    if (!splits) continue;
    breaks.push(b);
    tests.set(
      b,
      remember((a) => added.allowsBefore(a) && normalizer.keeps(a, b) && splits(a)),
    );
  }
  if (breaks.length === 0) return null;
  const candidate = new RegExp(`[^\\s\\x85\\p{Z}](?=[${breaks.join("")}])`, "gu");
  return {
    find(text, from) {
      candidate.lastIndex = from;
      for (let match = candidate.exec(text); match; match = candidate.exec(text)) {
        const end = match.index + match[0].length;
        const a = match[0];
        if (!isAssigned(a.codePointAt(0)!) || !tests.get(text[end])!(a)) continue;
        if (!normalizer.prepends) return { end, begin: end };
        const next = text.slice(end + 1, end + 3);
        if (next !== "" && added.allowsDrop(a, next)) return { end, begin: end + 1 };
      }
      return null;
    },
  };
}

function remember(test: (a: string) => boolean): (a: string) => boolean {
  const known = new Map<string, boolean>();
  return (a) => {
    let answer = known.get(a);
    if (answer === undefined) known.set(a, answer = test(a));
    return answer;
  };
}

function addedTokenRule({ addedTokens, normalizer }: TokenizerSpec) {
  // Characters alike for added tokens, whatever a normalizer does to letters and spaces.
  const fold = (text: string) =>
    normalizer ? text.normalize("NFKC").toLowerCase().replaceAll("▁", " ") : text;
  const spaced = new Set<string>();
  const stripped = new Set<string>();
  const starts = new Set<string>();
  const ends = new Set<string>();
  for (const token of addedTokens) {
    const text = fold(token.content);
    // A replacement could put spaces into a normalized token that its spelling does not show.
    if (token.normalized && JSON.stringify(normalizer)?.includes('"Replace"')) {
      if (!/^[!-~]+$/.test(text)) return null;
    }
    if (token.single_word && /^\s/.test(text)) return null;
    const chars = [...text];
    chars.slice(1).forEach((b, i) => /\s/.test(b) && spaced.add(chars[i]));
    if (chars.length === 0) continue;
    starts.add(chars[0]);
    ends.add(chars[chars.length - 1]);
    if (token.rstrip) stripped.add(chars[chars.length - 1]);
  }
  return {
    allowsBefore: (a: string) => {
      const last = [...fold(a)].pop() ?? "";
      return !spaced.has(last) && !stripped.has(last);
    },
    /** Whether no added token can lie right before or right after the dropped space. */
    allowsDrop: (a: string, next: string) =>
      !ends.has([...fold(a)].pop() ?? "") && /^[!-~]/.test(next) && !starts.has(fold(next[0])),
  };
}

interface NormalizerRule {
  /** Whether a prefix is put before every section: the cut then drops the space it stands for. */
  readonly prepends: boolean;
  /** Whether a line feed stays one. */
  readonly keepsLineFeed: boolean;
  /** What a break becomes. */
  space(b: string): string;
  /** Whether `a` stays itself and nothing reaches from it across the cut. */
  keeps(a: string, b: string): boolean;
}

/** Characters that no Unicode normalizing changes and that combine with nothing before them. */
const inert = (a: string) => /^[!-~\u4E00-\u9FFF]$/.test(a);

async function normalizerRule({ normalizer }: TokenizerSpec): Promise<NormalizerRule | null> {
  let prepends: string | null = null;
  let space = " ";
  let keepsLineFeed = true;
  const keeps: ((a: string, b: string) => boolean)[] = [];
  for (const part of flatten(normalizer, "normalizers")) {
    switch (part.type) {
      case "NFC":
      case "NFD":
      case "NFKC":
      case "NFKD":
      case "Lowercase":
      case "StripAccents":
        keeps.push(inert);
        break;
      case "BertNormalizer":
        keepsLineFeed = false;
        keeps.push((a) => /^[!-~]$/.test(a));
        break;
      case "Strip":
        if (part.strip_left) return null;
        break;
      case "Prepend":
        prepends = String(part.prepend);
        keepsLineFeed = false;
        break;
      case "Replace": {
        const { String: text, Regex: regex } = part.pattern as Record<string, string | undefined>;
        const content = String(part.content);
        if (text === " ") {
          if ([...content].length !== 1) return null;
          space = content;
        } else if (text !== undefined) {
          if (text === "" || /\s|▁/.test(text) || text.includes(space)) return null;
          keeps.push((a) => !text.includes(a));
        } else {
          const cut = await regexCut(regex!);
          if (!cut || (cut.matches(space) && !content.startsWith(space)) || cut.matches("\n")) {
            return null;
          }
          const at = space;
          keeps.push((a) => !cut.matches(a) && cut.keepsApart(a, at));
        }
        break;
      }
      default:
        return null;
    }
  }
  if (prepends !== null && prepends !== space) return null;
  return {
    prepends: prepends !== null,
    keepsLineFeed,
    space: (b) => b === " " ? space : b,
    keeps: (a, b) => keeps.every((test) => test(a, b)),
  };
}

/** Whether the text is split, or never joined, between `a` and a break `b` that became `image`. */
async function splitRule(
  spec: TokenizerSpec,
  b: string,
  image: string,
): Promise<((a: string) => boolean) | null> {
  const before: ((a: string) => boolean)[] = [];
  const all = (last: (a: string) => boolean) => (a: string) =>
    before.every((test) => test(a)) && last(a);
  const parts = flatten(spec.preTokenizer, "pretokenizers");
  // It marks what begins at the text's start, which after another stage may be any split.
  if (parts.slice(1).some((part) => part.type === "Metaspace" && part.prepend_scheme === "first")) {
    return null;
  }
  for (const part of parts) {
    switch (part.type) {
      case "Whitespace":
      case "WhitespaceSplit":
      case "BertPreTokenizer":
        if (/^\s$/.test(image)) return all(() => true);
        break;
      case "Digits":
        break;
      case "Punctuation":
        if (part.behavior === "MergedWithNext") return null;
        break;
      case "Metaspace":
        if (image === " ") image = String(part.replacement);
        if (image !== part.replacement) {
          if (part.prepend_scheme !== "never") return null;
          break;
        }
        if (part.split !== false) return all(() => true);
        break;
      case "ByteLevel": {
        if (part.add_prefix_space && image !== " ") return null;
        if (part.use_regex === false) {
          image = "";
          break;
        }
        const cut = (await regexCut(GPT2_PATTERN))!;
        return cut.alwaysMatches(image) ? all((a) => cut.keepsApart(a, image)) : null;
      }
      case "Split": {
        const { String: text, Regex: regex } = part.pattern as Record<string, string | undefined>;
        if (text !== undefined && text === b && image !== b && b === " ") break;
        if (regex === undefined || part.behavior !== "Isolated") return null;
        const cut = await regexCut(regex);
        if (!cut || image === "") return null;
        const at = image;
        const apart = (a: string) => cut.keepsApart(a, at);
        if (cut.alwaysMatches(image)) return all(apart);
        before.push(apart);
        break;
      }
      default:
        return null;
    }
  }
  const joins = bpePairs(spec.model, image);
  return joins && all((a) => !joins(a));
}

/** For a BPE vocabulary over whole texts: whether some merge could join `a` with `b`. */
function bpePairs(model: Part, b: string): ((a: string) => boolean) | null {
  const plain = model.type === "BPE" && b !== "" && !model.ignore_merges && !model.dropout &&
    !model.continuing_subword_prefix && !model.end_of_word_suffix;
  const vocab = model.vocab as Record<string, number>;
  if (!plain || !Object.hasOwn(vocab, b)) return null;
  const before = new Set<string>();
  for (const token of Object.keys(vocab)) {
    for (let at = token.indexOf(b, 1); at > 0; at = token.indexOf(b, at + 1)) {
      before.add([...token.slice(Math.max(0, at - 2), at)].pop()!);
    }
  }
  // Lower-casing may come before.
  return (a) =>
    [a, a.toLowerCase()].some((form) => before.has(form) || !Object.hasOwn(vocab, form));
}
