import { type Dump, type DumpArray, layerOf } from "./dump.ts";

/** Arrays that say what a dump was made of: never the only thing compared. */
const BOOKKEEPING = new Set([
  "token_ids",
  "dead",
  "starts",
  "compressed_ids",
  "positions",
  "query_start_loc",
  "dead_mask",
  "lookback_token_ids",
  "lookback_dead_mask",
]);

/** Arrays of two dumps that stand for the same. */
export interface PairedArrays {
  /** Ours and theirs, in our order. */
  readonly pairs: readonly (readonly [ours: DumpArray, theirs: DumpArray])[];
  /** Ours that have no counterpart. */
  readonly missing: readonly string[];
}

/**
 * Pairs arrays by name. An array without a name (the one of a .npy file) goes to the array, or to
 * the layers' arrays side by side, that has its size.
 */
export function pairArrays(expected: Dump, actual: Dump): PairedArrays {
  const ours = named(expected, actual);
  const theirs = named(actual, expected);
  const pairs: [DumpArray, DumpArray][] = [];
  const missing: string[] = [];
  for (const [name, array] of ours) {
    const other = theirs.get(name);
    if (other) pairs.push([array, other]);
    else if (!BOOKKEEPING.has(name)) missing.push(name);
  }
  const telling = pairs.some(([{ name }]) => !BOOKKEEPING.has(name));
  return { pairs: telling ? pairs : [], missing };
}

/** A dump's arrays by name; a nameless one by the names of the other dump's arrays. */
function named(dump: Dump, other: Dump): ReadonlyMap<string, DumpArray> {
  const nameless = dump.arrays.get("");
  if (!nameless || other.arrays.has("")) return dump.arrays;
  const candidates = [...other.arrays.values()].filter(({ name }) => !BOOKKEEPING.has(name));
  const found = new Map<string, DumpArray>();
  const like = (array: DumpArray) => sizeOf(array.shape) === sizeOf(nameless.shape);
  const single = candidates.find(like);
  if (single) return found.set(single.name, { ...nameless, name: single.name });
  // [tokens, layers, …], as lookup and eval write it.
  for (const part of ["rows", "output", "gate", "kv"]) {
    const layers = candidates.filter(({ name }) => name.endsWith(`.${part}`));
    if (layers.length !== nameless.shape[1] || layers.length === 0) continue;
    if (sizeOf(nameless.shape) !== layers.reduce((sum, { shape }) => sum + sizeOf(shape), 0)) {
      continue;
    }
    const sorted = layers.toSorted((a, b) => layerId(a.name) - layerId(b.name));
    sorted.forEach(({ name }, i) => found.set(name, layerOf(nameless, i, name)));
    return found;
  }
  // Of another size: compared with the first array of as many dimensions, as far as both go.
  const near = candidates.find(({ shape }) => shape.length === nameless.shape.length);
  if (near) found.set(near.name, { ...nameless, name: near.name });
  return found;
}

function layerId(name: string): number {
  return Number(/layers\.(\d+)/.exec(name)?.[1] ?? 0);
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}
