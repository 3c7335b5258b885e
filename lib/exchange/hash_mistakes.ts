import type { Layout } from "../layout/layout.ts";
import { multipliersOfSeed } from "../layout/multipliers.ts";
import { drawPrimes } from "../layout/draw_primes.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { columnOrders, rankBases, rankCounts } from "./column_mistakes.ts";
import type { Constants } from "./constants.ts";
import { hashByRules, type HashRules, type TokenSample, trueRules } from "./hash_rules.ts";
import { MAP_MISTAKES, type MapMistake, mistakenMap } from "./mistaken_maps.ts";

/** A known mistake of an engine, and the row numbers a sample gets by it. */
export interface HashMistake {
  /** A stable word. */
  readonly id: string;
  /** What is wrong, for people. */
  readonly cause: string;
  /** Row numbers [tokens, layers, columns]. */
  ids(sample: TokenSample): Float64Array;
}

/** Numbers of keys that engines have been seen to take for the compressed size. */
const SIZES = [129280, 128815, 129264, 128000, 98627, 99092, 65536];

/** All known mistakes of the hash, the likeliest first; `first` is where a dump differs first. */
export function* hashMistakes(
  constants: Constants,
  tokenizer: Tokenizer | null,
  first: { readonly position: number; readonly token: number },
): Generator<HashMistake> {
  const right = trueRules(constants);
  const { layout } = constants;
  const rules = (id: string, cause: string, wrong: Partial<HashRules>): HashMistake => ({
    id,
    cause,
    ids: (sample) => hashByRules({ ...right, ...wrong }, sample),
  });
  yield rules("pad-token-id", "the pad is hashed as its token id, wanted its compressed id", {
    pad: constants.padTokenId,
  });
  yield rules("pad-zero", "the pad is hashed as 0, wanted its compressed id", { pad: 0 });
  yield rules("dead-not-sticky", "a dead token does not block the lookbacks behind it", {
    dead: "alone",
  });
  yield rules("dead-ignored", "dead tokens are hashed like any other", { dead: "ignored" });
  yield* chunkMistakes(rules, first);
  yield* multiplierMistakes(rules, layout, right, constants);
  yield rules("products-double", "products id * multiplier pass through doubles, wanted int64", {
    arithmetic: "double products",
  });
  yield rules("products-double", "the hash passes through a double before its remainder is taken", {
    arithmetic: "double remainder",
  });
  yield* primeMistakes(rules, layout, constants.vocabSize);
  yield* placeMistakes(right, layout);
  yield* mapMistakes(rules, layout, constants, tokenizer);
}

type Rules = (id: string, cause: string, wrong: Partial<HashRules>) => HashMistake;

function* chunkMistakes(
  rules: Rules,
  { position, token }: { readonly position: number; readonly token: number },
): Generator<HashMistake> {
  for (const [from, at] of [["request", position], ["file", token]] as const) {
    // The first loss is at the start of the second chunk, or a multiple of it.
    for (const size of divisors(at)) {
      const where = `chunks of ${size} tokens${from === "file" ? " over all requests" : ""}`;
      yield rules("chunk-lookback-lost", `lookbacks are lost at the start of ${where}`, {
        chunks: { size, from, window: "lost" },
      });
      yield rules("window-reversed", `the window before ${where} is read in reverse`, {
        chunks: { size, from, window: "reversed" },
      });
    }
  }
}

/** Divisors of n, largest first. */
function divisors(n: number): number[] {
  const found: number[] = [];
  for (let i = 1; i * i <= n; i++) if (n % i === 0) found.push(i, n / i);
  return [...new Set(found)].sort((a, b) => b - a);
}

function* multiplierMistakes(
  rules: Rules,
  layout: Layout,
  right: HashRules,
  { tokenMap }: Constants,
): Generator<HashMistake> {
  const { layers, maxNgramSize, compressedVocabSize } = layout;
  const { multipliers } = right;
  const ids = layers.map(({ layerId }) => BigInt(layerId));
  const seeded = (seeds: readonly bigint[], size: number) =>
    seeds.map((seed) => multipliersOfSeed(seed, maxNgramSize, BigInt(size)));
  yield rules("multipliers-reversed", "multipliers are in reverse: the farthest lookback first", {
    multipliers: multipliers.map((layer) => layer.toReversed()),
  });
  for (let shift = 1; shift < layers.length; shift++) {
    const shifted = multipliers.map((_, i) => multipliers[(i + shift) % layers.length]);
    yield rules("multipliers-layer-order", "multipliers of the layers are in another order", {
      multipliers: shifted,
    });
  }
  if (layers.length > 2) {
    yield rules("multipliers-layer-order", "multipliers of the layers are in reverse order", {
      multipliers: multipliers.toReversed(),
    });
  }
  const sizes = new Set([
    tokenMap.map.length,
    compressedVocabSize - 1,
    compressedVocabSize + 1,
    ...SIZES,
  ]);
  for (const size of sizes) {
    if (size === compressedVocabSize || size < 1) continue;
    yield rules(
      "multipliers-other-size",
      `multipliers derive from a vocabulary of ${size}, wanted ${compressedVocabSize}`,
      { multipliers: seeded(ids.map((id) => 10007n * id), size) },
    );
  }
  const seeds: [string, bigint[]][] = [
    ["the layer id alone, wanted 10007 times it", ids],
    ["10007 plus the layer id, wanted times", ids.map((id) => 10007n + id)],
    [
      "10007 times the layer's place in the list, wanted its id",
      ids.map((_, i) => 10007n * BigInt(i)),
    ],
    [
      "10007 times the layer's place counted from 1, wanted its id",
      ids.map((_, i) => 10007n * BigInt(i + 1)),
    ],
    ["10007 times the layer id plus 1", ids.map((id) => 10007n * (id + 1n))],
    ["10007 for every layer", ids.map(() => 10007n)],
    ["0 for every layer", ids.map(() => 0n)],
    ["the first layer's seed for every layer", ids.map(() => 10007n * ids[0])],
  ];
  for (const [what, list] of seeds) {
    yield rules("multipliers-seed", `multipliers are seeded by ${what}`, {
      multipliers: seeded(list, compressedVocabSize),
    });
  }
}

function* primeMistakes(rules: Rules, layout: Layout, vocabSize: number): Generator<HashMistake> {
  const { layers, maxNgramSize, nHeads } = layout;
  const own = drawPrimes(1, maxNgramSize, nHeads, vocabSize)[0].flat();
  const same = drawPrimes(1, 2, nHeads, vocabSize)[0][0];
  const each = Array.from({ length: maxNgramSize - 1 }, () => same).flat();
  for (
    const [primes, cause] of [
      [own, "each layer draws its primes anew, wanted none that a layer before has taken"],
      [each, "each n-gram size draws its primes anew, wanted none that is taken already"],
    ] as const
  ) {
    yield rules("primes-not-shared", cause, {
      primes: layers.map(() => primes),
      starts: layers.map(() => startsOf(primes)),
    });
  }
}

/** Mistakes of where columns stand and begin: the remainders themselves are right. */
function* placeMistakes(right: HashRules, layout: Layout): Generator<HashMistake> {
  const { layers, columns, nHeads } = layout;
  const moved = (
    id: string,
    cause: string,
    move: (ids: Float64Array, layer: number, out: Float64Array) => void,
  ): HashMistake => ({
    id,
    cause,
    ids(sample) {
      const ids = hashByRules(right, sample);
      const out = new Float64Array(ids.length);
      for (let at = 0, i = 0; at < ids.length; at += columns, i++) {
        const to = out.subarray(at, at + columns);
        move(ids.subarray(at, at + columns), i % layers.length, to);
      }
      return out;
    },
  });
  const shifted = (id: string, cause: string, bases: readonly (readonly number[])[]) =>
    moved(id, cause, (ids, layer, out) => {
      for (let column = 0; column < columns; column++) {
        out[column] = ids[column] + bases[layer][column];
      }
    });
  const orders = columnOrders(layout);
  for (const { id, cause, order } of orders) {
    yield moved(id, cause, (ids, _, out) => order.forEach((column, i) => out[i] = ids[column]));
    if (id !== "head-major") continue;
    // As well as the order, the first rows are summed up head by head.
    const starts = right.primes.map((primes) => startsOf(order.map((column) => primes[column])));
    yield moved(id, `${cause}; so are the columns' first rows`, (ids, layer, out) => {
      order.forEach((column, i) => {
        out[i] = ids[column] - right.starts[layer][column] + starts[layer][i];
      });
    });
    yield moved(id, "columns' first rows are summed up in head-major order", (ids, layer, out) => {
      order.forEach((column, i) => {
        out[column] = ids[column] - right.starts[layer][column] + starts[layer][i];
      });
    });
  }
  yield shifted(
    "offsets-missing",
    "columns' first rows are not added: ids are remainders alone",
    right.starts.map((starts) => starts.map((start) => -start)),
  );
  let before = 0;
  const global = layers.map(({ rows }) => (before += rows) - rows);
  yield shifted(
    "offsets-global",
    "first rows count over all layers, wanted from 0 in each",
    global.map((base) => Array.from({ length: columns }, () => base)),
  );
  if ((columns / nHeads) > 1) {
    yield shifted(
      "offsets-missing",
      "first rows count from 0 for each n-gram size, wanted over the layer",
      right.starts.map((starts) => starts.map((_, column) => -starts[column - column % nHeads])),
    );
  }
  for (const tp of rankCounts(columns)) {
    yield shifted(
      "rank-base",
      `the first row of each of ${tp} ranks is not added: ids count from the rank's start`,
      layers.map((layer) => rankBases(layer, tp).map((base) => -base)),
    );
  }
}

function* mapMistakes(
  rules: Rules,
  layout: Layout,
  { padTokenId, tokenMap }: Constants,
  tokenizer: Tokenizer | null,
): Generator<HashMistake> {
  const tokens = tokenMap.map.length;
  const variants: [string, string, () => { map: Int32Array; size: number }][] = tokenizer
    ? (Object.keys(MAP_MISTAKES) as MapMistake[]).map((mistake) => [
      `map-${mistake.replaceAll(" ", "-")}`,
      MAP_MISTAKES[mistake],
      () => mistakenMap(tokenizer, mistake),
    ])
    : [];
  variants.push([
    "map-missing",
    "token ids are hashed as they are, wanted compressed ids",
    () => ({ map: Int32Array.from({ length: tokens }, (_, id) => id), size: tokens }),
  ]);
  for (const [id, cause, make] of variants) {
    const { map, size } = make();
    const pad = map[padTokenId];
    yield rules(id, cause, { map, pad });
    yield rules(id, `${cause}, and multipliers derive from its ${size} keys`, {
      map,
      pad,
      multipliers: layout.layers.map(({ layerId }) =>
        multipliersOfSeed(10007n * BigInt(layerId), layout.maxNgramSize, BigInt(size))
      ),
    });
  }
}

function startsOf(primes: readonly number[]): number[] {
  let start = 0;
  return primes.map((prime) => (start += prime) - prime);
}
