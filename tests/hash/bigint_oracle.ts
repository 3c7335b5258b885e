import type { Layout } from "../../lib/layout/layout.ts";

/** One token as the oracle sees it: where it stands, and everything before it that is known. */
export interface OracleToken {
  readonly position: number;
  /** The compressed id `back` tokens before (0 is the token itself), "dead" or "unknown". */
  source(back: number): number | "dead" | "unknown";
}

/** The hash ids [layers * columns] of one token, straight from the definition, in BigInt. */
export function oracleHash(layout: Layout, padId: number, token: OracleToken): number[] {
  const sources: bigint[] = [];
  let blocked = false;
  for (let back = 0; back < layout.maxNgramSize; back++) {
    const source = token.position - back < 0 ? "dead" : token.source(back);
    if (source === "dead") blocked = true;
    sources.push(BigInt(blocked || typeof source === "string" ? padId : source));
  }
  return layout.layers.flatMap((layer) => {
    const ids: number[] = [];
    // Summed up from the primes, not taken from the layout's own offsets.
    let start = 0;
    for (let size = 2; size <= layout.maxNgramSize; size++) {
      let rolling = 0n;
      for (let back = 0; back < size; back++) {
        rolling ^= BigInt.asIntN(64, sources[back] * layer.multipliers[back]);
      }
      for (let head = 0; head < layout.nHeads; head++) {
        const prime = BigInt(layer.primes[size - 2][head]);
        ids.push(start + Number(((rolling % prime) + prime) % prime));
        start += layer.primes[size - 2][head];
      }
    }
    return ids;
  });
}

/** The hash ids of a whole request from position `first` on, whose past is unknown. */
export function oracleRequest(
  layout: Layout,
  padId: number,
  ids: ArrayLike<number>,
  dead?: ArrayLike<number>,
  first = 0,
): number[] {
  return Array.from({ length: ids.length }, (_, t) =>
    oracleHash(layout, padId, {
      position: first + t,
      source: (back) => back > t ? "unknown" : dead?.[t - back] ? "dead" : ids[t - back],
    })).flat();
}
