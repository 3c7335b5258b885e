import type { Layout } from "../../lib/layout/layout.ts";
import { Pcg64 } from "../../lib/layout/pcg64.ts";

/** An engine's hash, written from the definition with one thing wrong wherever a switch is set. */
export interface Mistakes {
  readonly map?: readonly number[];
  readonly pad?: number;
  readonly dead?: "only itself" | "not at all";
  /** Tokens of a chunk whose lookbacks before it are lost, or read from the window's far end. */
  readonly lost?: number;
  readonly reversedWindow?: number;
  readonly multipliers?: readonly (readonly bigint[])[];
  readonly doubles?: boolean;
  readonly primes?: readonly (readonly number[])[];
  /** First row of each column, by layer. */
  readonly starts?: (layer: number, column: number) => number;
}

/** Tokens of several requests. */
export interface EngineTokens {
  readonly tokenIds: readonly number[];
  readonly dead: readonly number[];
  /** First token of each request. */
  readonly starts: readonly number[];
}

/** Row numbers [tokens][layers][columns]. */
export function mistakenEngine(
  layout: Layout,
  map: readonly number[],
  padTokenId: number,
  { tokenIds, dead, starts }: EngineTokens,
  mistakes: Mistakes = {},
): number[][][] {
  const ids = mistakes.map ?? map;
  const pad = mistakes.pad ?? ids[padTokenId];
  const depth = layout.maxNgramSize - 1;
  return tokenIds.map((_, token) => {
    const request = Math.max(...starts.filter((start) => start <= token));
    const position = token - request;
    const sources: bigint[] = [];
    let blocked = false;
    for (let back = 0; back <= depth; back++) {
      let at: number | undefined = position - back;
      if (at < 0) {
        blocked = true;
        at = undefined;
      } else if (mistakes.lost && at < position - position % mistakes.lost) at = undefined;
      else if (mistakes.reversedWindow && at < position - position % mistakes.reversedWindow) {
        const start = position - position % mistakes.reversedWindow;
        const nearest = start - 1 - at;
        at = start - 1 - (depth - 1 - nearest);
        if (at < 0) at = undefined;
      }
      const index = at === undefined ? undefined : request + at;
      const isDead = index !== undefined && dead[index] === 1 && mistakes.dead !== "not at all";
      if (isDead && mistakes.dead !== "only itself") blocked = true;
      const none = blocked || isDead || index === undefined;
      sources.push(BigInt(none ? pad : ids[tokenIds[index]]));
    }
    return layout.layers.map((layer, l) => {
      const multipliers = mistakes.multipliers?.[l] ?? layer.multipliers;
      const primes = mistakes.primes?.[l] ?? layer.primes.flat();
      let start = 0;
      return primes.map((prime, column) => {
        const size = 2 + Math.floor(column / layout.nHeads);
        let rolling = 0n;
        for (let back = 0; back < size; back++) {
          const product = mistakes.doubles
            ? BigInt(Number(sources[back]) * Number(multipliers[back]))
            : sources[back] * multipliers[back];
          rolling ^= BigInt.asIntN(64, product);
        }
        const first = mistakes.starts ? mistakes.starts(l, column) : start;
        start += prime;
        return first + Number(((rolling % BigInt(prime)) + BigInt(prime)) % BigInt(prime));
      });
    });
  });
}

/** Multipliers as numpy's generator gives them for a seed. */
export function seeded(seed: number, count: number, size: number): bigint[] {
  const random = new Pcg64(BigInt(seed));
  const bound = (2n ** 63n - 1n) / BigInt(size) / 2n;
  return Array.from({ length: count }, () => 2n * random.below(bound) + 1n);
}
