import type {
  AlternativeElementNode,
  AlternativeNode,
  CharacterClassNode,
  CharacterNode,
  CharacterSetNode,
} from "oniguruma-parser/parser";

/** What a split pattern does at a cut between two neighbouring characters. */
export interface RegexCut {
  /** Whether it has no possessive quantifier, atomic group or class intersection. */
  readonly plain: boolean;
  /** Whether no match can hold `a` and then `b`, nor look across the cut. */
  keepsApart(a: string, b: string): boolean;
  /** Whether `char` can be part of a match. */
  matches(char: string): boolean;
  /** Whether a match always starts at `b` when none that began before reaches it. */
  alwaysMatches(b: string): boolean;
}

/**
 * Reads a split pattern (Oniguruma syntax) for what it can match across a cut.
 * Null when the pattern uses something this cannot judge: anchors, word boundaries, looking back,
 * looking ahead by more than one character, back references, or matching nothing.
 */
export async function regexCut(pattern: string): Promise<RegexCut | null> {
  const [{ parse }, { generate }, { toRegExp }] = await Promise.all([
    import("oniguruma-parser/parser"),
    import("oniguruma-parser/generator"),
    import("oniguruma-to-es"),
  ]);
  const { body, flags } = parse(pattern);
  if (flags.extended) return null;
  const regexes = new Map<Leaf, RegExp>();
  const matchesLeaf = (leaf: Leaf, char: string): boolean => {
    let regex = regexes.get(leaf);
    if (!regex) {
      const root = { type: "Regex", body: [{ type: "Alternative", body: [leaf] }], flags } as const;
      regexes.set(leaf, regex = toRegExp(`\\A(?:${generate(root as never).pattern})\\z`));
    }
    // Both cases, so that a case-insensitive group is covered; too wide only costs a cut.
    return [char, char.toLowerCase(), char.toUpperCase()].some((form) => regex.test(form));
  };
  const span = (a: string, b: string): Span =>
    alternatives(body, (leaf) => [matchesLeaf(leaf, a), matchesLeaf(leaf, b)]);
  try {
    if (span("a", "a").empty) return null;
  } catch (error) {
    if (error instanceof Unjudged) return null;
    throw error;
  }
  return {
    plain: !/"kind":"(possessive|intersection)"|"atomic":true/.test(JSON.stringify(body)),
    keepsApart: (a, b) => !span(a, b).joins,
    matches: (char) => span(char, char).touches,
    alwaysMatches: (b) => body.some((alternative) => matchesAlone(alternative, b, matchesLeaf)),
  };
}

type Leaf = CharacterNode | CharacterClassNode | CharacterSetNode;

/** A part of the pattern, judged for one pair of characters a, b. */
interface Span {
  /** It can match nothing. */
  readonly empty: boolean;
  /** It can begin with b, or look at it. */
  readonly startsB: boolean;
  /** It can end with a. */
  readonly endsA: boolean;
  /** It can hold a and then b, or look at b right after a. */
  readonly joins: boolean;
  /** It can consume a. */
  readonly touches: boolean;
}

const NOTHING: Span = { empty: true, startsB: false, endsA: false, joins: false, touches: false };

/** Thrown at a construct that cannot be judged. */
class Unjudged extends Error {}

type Judge = (leaf: Leaf) => [matchesA: boolean, matchesB: boolean];

function alternatives(body: readonly AlternativeNode[], judge: Judge): Span {
  return body.map((alternative) =>
    alternative.body.reduce((before, node) => sequence(before, element(node, judge)), NOTHING)
  ).reduce((one, other) => ({
    empty: one.empty || other.empty,
    startsB: one.startsB || other.startsB,
    endsA: one.endsA || other.endsA,
    joins: one.joins || other.joins,
    touches: one.touches || other.touches,
  }));
}

function sequence(one: Span, next: Span): Span {
  return {
    empty: one.empty && next.empty,
    startsB: one.startsB || (one.empty && next.startsB),
    endsA: next.endsA || (next.empty && one.endsA),
    joins: one.joins || next.joins || (one.endsA && next.startsB),
    touches: one.touches || next.touches,
  };
}

function element(node: AlternativeElementNode, judge: Judge): Span {
  switch (node.type) {
    case "Character":
    case "CharacterClass":
    case "CharacterSet": {
      if (node.type === "CharacterSet" && node.variableLength) throw new Unjudged();
      const [a, b] = judge(node);
      return { empty: false, startsB: b, endsA: a, joins: false, touches: a };
    }
    case "Group":
    case "CapturingGroup":
      return alternatives(node.body, judge);
    case "Quantifier": {
      const once = element(node.body, judge);
      const many = node.max === 1 ? once : sequence(once, once);
      return node.min === 0 ? { ...many, empty: true } : many;
    }
    case "LookaroundAssertion": {
      const single = node.kind === "lookahead" &&
        node.body.every(({ body }) => body.length === 1 && isLeaf(body[0]));
      if (!single) throw new Unjudged();
      return { ...NOTHING, startsB: true };
    }
    default:
      throw new Unjudged();
  }
}

/** Whether an alternative can match `b` alone with nothing that could forbid it. */
function matchesAlone(
  { body }: AlternativeNode,
  b: string,
  matches: (leaf: Leaf, char: string) => boolean,
): boolean {
  const optional = (node: AlternativeElementNode) => node.type === "Quantifier" && node.min === 0;
  const plain = body.every((node) =>
    isLeaf(node) ||
    (node.type === "Quantifier" && node.kind !== "possessive" && node.min <= 1 && isLeaf(node.body))
  );
  return plain && body.some((node, i) => {
    const leaf = node.type === "Quantifier" ? node.body : node;
    return isLeaf(leaf) && matches(leaf, b) && body.every((other, j) => j === i || optional(other));
  });
}

function isLeaf(node: AlternativeElementNode): node is Leaf {
  return ["Character", "CharacterClass", "CharacterSet"].includes(node.type);
}
