import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { Layout } from "../layout/layout.ts";
import { rankSpans } from "../layout/rank_spans.ts";
import { readManifest } from "../shards/shard_manifest.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { addCause, type Cause, sameValues } from "./cause.ts";
import { type ArrayDifference, compareArrays, differs } from "./compare_arrays.ts";
import type { Constants } from "./constants.ts";
import type { Dump, DumpArray } from "./dump.ts";
import { hashMistakes } from "./hash_mistakes.ts";
import { hashByRules, type TokenSample, trueRules } from "./hash_rules.ts";
import { mapCauses } from "./map_causes.ts";
import { pairArrays } from "./pair_arrays.ts";
import {
  pickColumns,
  rankColumns,
  type RankOfSplit,
  rankRowMistakes,
} from "./rank_row_mistakes.ts";
import { layerPart, type RowMistake, rowMistakes } from "./row_mistakes.ts";
import { readRows } from "./row_reader.ts";
import { shardCauses } from "./shard_causes.ts";
import { type DumpTokens, tokensOf } from "./token_sample.ts";

/** What is known of the model, to look for causes by. */
export interface DiffModel {
  /** Its constants. */
  readonly constants: Constants;
  /** Its tables; without layers causes that need rows are not looked for. */
  readonly checkpoint: Pick<Checkpoint, "layers">;
  /** Its tokenizer, for mistakes of the token map. */
  readonly tokenizer: Tokenizer | null;
}

/** How {@linkcode diffDumps} compares. */
export interface DiffOptions {
  /** The model; without it only causes that need none are found. */
  readonly model: DiffModel | null;
  /** Difference allowed of gates, keys, values and outputs, relative to the largest of a token. */
  readonly tolerance: number;
  /** The rank whose rows the dumps hold; without it those of all columns. */
  readonly rank?: RankOfSplit;
  /** Ends the work with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal;
}

/** What a comparison found. */
export interface Diff {
  /** Arrays compared. */
  readonly arrays: readonly ArrayDifference[];
  /** Arrays expected that the other dump does not have. */
  readonly missing: readonly string[];
  /** Mistakes that give what the dump has. */
  readonly causes: readonly Cause[];
  /** Ids of the layers that arrays over layers have; null where they are not known. */
  readonly layerIds: readonly number[] | null;
}

/** Tokens by which a mistake is told, from a little before the first difference. */
const BEFORE = 64;
const AFTER = 192;

/** Values of rows held at once for each of a sample's arrays. */
const ROW_VALUES = 1 << 18;

/** Arrays whose values come out of sums: compared within a tolerance. */
const SUMS = /\.(gate|output|kv|hidden)$/;

/**
 * Compares an engine's dump with ours and looks for the cause of what differs, by making each known
 * mistake and seeing whether it gives the same values.
 *
 * @throws an {@linkcode EngramError} of kind `usage` where the dumps have no array in common.
 */
export async function diffDumps(expected: Dump, actual: Dump, options: DiffOptions): Promise<Diff> {
  const { pairs, missing } = pairArrays(expected, actual);
  if (pairs.length === 0) {
    throw new EngramError(
      "usage",
      `Cannot compare \`${actual.name}\` with \`${expected.name}\`: found no array in common; ` +
        `wanted one of ${[...expected.arrays.keys()].join(", ")}`,
      { where: actual.name },
    );
  }
  const arrays: ArrayDifference[] = [];
  for (const [ours, theirs] of pairs) {
    const tolerance = SUMS.test(ours.name) ? options.tolerance : 0;
    arrays.push(await compareArrays(ours, theirs, tolerance, options.signal));
  }
  const search = new CauseSearch(expected, actual, pairs, options);
  for (const [i, difference] of arrays.entries()) {
    if (differs(difference)) await search.explain(pairs[i], difference);
  }
  return { arrays, missing, causes: search.causes, layerIds: layerIdsOf(expected, options.model) };
}

/** Layer ids by the model, or as `engram hash` writes them. */
function layerIdsOf(expected: Dump, model: DiffModel | null): number[] | null {
  if (model) return model.constants.layout.layers.map(({ layerId }) => layerId);
  const text = expected.metadata.get("layer_ids");
  return text !== undefined && /^\[[\d,]*\]$/.test(text) ? JSON.parse(text) : null;
}

type Pair = readonly [ours: DumpArray, theirs: DumpArray];

/** Tries the known mistakes on the arrays that differ. */
class CauseSearch {
  readonly causes: Cause[] = [];
  readonly model: DiffModel | null;
  readonly rank: RankOfSplit | undefined;

  constructor(
    readonly expected: Dump,
    readonly actual: Dump,
    readonly pairs: readonly Pair[],
    { model, rank }: Pick<DiffOptions, "model" | "rank">,
  ) {
    this.model = model;
    this.rank = rank;
  }

  async explain([ours, theirs]: Pair, difference: ArrayDifference): Promise<void> {
    const { name } = ours;
    if (name === "token_map") return await this.#map(ours, theirs);
    if (name === "token_ids") {
      addCause(this.causes, {
        id: "other-tokens",
        cause: "the token ids differ: another text, tokenizer or special tokens",
      }, name);
      return;
    }
    const table = /layers\.(\d+)\.engram\..*(weight|scale)/.exec(name);
    if (table) return await this.#shard(theirs, Number(table[1]), name);
    if (difference.first === null) return;
    if (name === "hash_ids") return await this.#ids(ours, theirs, difference.first[0]);
    const rows = /^layers\.(\d+)\.rows$/.exec(name);
    if (rows) return await this.#rows(ours, theirs, Number(rows[1]), difference.first[0]);
  }

  async #map(ours: DumpArray, theirs: DumpArray): Promise<void> {
    const read = async (array: DumpArray) =>
      Int32Array.from(await array.read(0, array.shape.reduce((product, n) => product * n, 1)));
    const tokenizer = this.model?.tokenizer ?? null;
    this.causes.push(...mapCauses(await read(theirs), await read(ours), tokenizer));
  }

  async #shard(theirs: DumpArray, layerId: number, name: string): Promise<void> {
    const manifest = readManifest(this.expected.metadata);
    if (!manifest || !this.model || !/engram\.embed/.test(name)) return;
    const { constants: { layout }, checkpoint: { layers } } = this.model;
    const index = layout.layers.findIndex((layer) => layer.layerId === layerId);
    if (index < 0 || layers.some(({ embed }) => embed === null)) return;
    const part = /scale/.test(name) ? "scale" : "weight";
    await shardCauses(theirs, part, index, manifest, layout, layers, this.causes);
  }

  /** The tokens around a difference; null where they are not known. */
  async #sample(token: number, most: number): Promise<
    {
      tokens: DumpTokens;
      sample: TokenSample;
      end: number;
    } | null
  > {
    if (!this.model) return null;
    const { tokenMap, layout } = this.model.constants;
    const mapped = tokenMap.map.length;
    const tokens = await tokensOf(this.expected, mapped) ?? await tokensOf(this.actual, mapped);
    if (!tokens) return null;
    const first = Math.max(0, token - Math.min(BEFORE, Math.floor(most / 4)));
    const end = Math.min(tokens.tokens, first + Math.min(BEFORE + AFTER, most));
    const lead = 2 * (layout.maxNgramSize - 1);
    return { tokens, sample: await tokens.sample(first, end, lead), end };
  }

  async #ids(ours: DumpArray, theirs: DumpArray, token: number): Promise<void> {
    const around = await this.#sample(token, BEFORE + AFTER);
    if (!around || !this.model) return;
    const { sample, end } = around;
    const size = ours.shape.slice(1).reduce((product, n) => product * n, 1);
    const found = await theirs.read(sample.first * size, (end - sample.first) * size);
    for (const mistake of this.#mistakes(sample, token)) {
      if (sameValues(mistake.ids(sample), found)) addCause(this.causes, mistake, ours.name);
    }
  }

  #mistakes(sample: TokenSample, token: number) {
    const { constants, tokenizer } = this.model!;
    const position = sample.positions[token - sample.first + sample.lead];
    return hashMistakes(constants, tokenizer, { position, token });
  }

  async #rows(
    ours: DumpArray,
    theirs: DumpArray,
    layerId: number,
    token: number,
  ): Promise<void> {
    const size = ours.shape.slice(1).reduce((product, n) => product * n, 1);
    const most = Math.max(4, Math.floor(ROW_VALUES / size));
    const around = await this.#sample(token, most);
    const [first, end] = around
      ? [around.sample.first, around.end]
      : [token, Math.min(ours.shape[0], token + most)];
    const part = (array: DumpArray) => array.read(first * size, (end - first) * size);
    const found = await part(theirs);
    const layout = this.model?.constants.layout;
    const names = this.pairs.flatMap(([{ name }]) => /^layers\.(\d+)\.rows$/.exec(name)?.[1] ?? []);
    const others = new Map<number, Float64Array>();
    for (const [i, id] of names.entries()) {
      const index = layout ? layout.layers.findIndex((layer) => layer.layerId === Number(id)) : i;
      if (Number(id) !== layerId) {
        others.set(index, await part(this.expected.arrays.get(`layers.${id}.rows`)!));
      }
    }
    // Without a model names are all that is known of the layers.
    const index = layout
      ? layout.layers.findIndex((layer) => layer.layerId === layerId)
      : names.indexOf(String(layerId));
    const columns = ours.shape[1];
    const shape = layout ?? {
      maxNgramSize: 2,
      nHeads: columns,
      columns,
      compressedVocabSize: 1,
      layers: names.map((id) => ({
        layerId: Number(id),
        primes: [],
        offsets: [],
        multipliers: [],
        rows: 0,
      })),
    };
    const layers = this.#tables();
    const picked = layout ? this.#columns(layout, index) : [];
    const right = around && picked.length === columns
      ? hashByRules(trueRules(this.model!.constants), around.sample)
      : null;
    const headDim = ours.shape.at(-1)!;
    const ids = this.rank ? null : right;
    const sample = { index, expected: await part(ours), others, ids, columns, headDim };
    const mistakes: RowMistake[] = [...rowMistakes(shape, layers, sample)];
    if (this.rank && layers && layout && right) {
      mistakes.push(...rankRowMistakes(layout, layers, index, right, this.rank));
    }
    let explained = false;
    for (const mistake of mistakes) {
      if (!sameValues(await mistake.rows(), found)) continue;
      addCause(this.causes, mistake, ours.name);
      explained = true;
    }
    if (explained || !layers || !around || !layout || !right) return;
    // Right lookups of wrong row numbers.
    for (const mistake of this.#mistakes(around.sample, token)) {
      const all = layerPart(mistake.ids(around.sample), index, layout);
      const wrong = pickColumns(all, layout.columns, picked);
      // One token tells most mistakes apart from the rest; only then are all rows read.
      const at = (token - first) * columns;
      const one = await readRows(layers[index], wrong.slice(at, at + columns));
      const from = (token - first) * size;
      if (!sameValues(one, found.slice(from, from + size))) continue;
      if (sameValues(await readRows(layers[index], wrong), found)) {
        addCause(this.causes, mistake, ours.name);
      }
    }
  }

  /** The columns rows are dumped of: all, or the rank's with its padding. */
  #columns(layout: Layout, index: number): number[] {
    const { rank } = this;
    if (!rank) return Array.from({ length: layout.columns }, (_, column) => column);
    return rankColumns(rankSpans(layout.layers[index], rank)[rank.rank]);
  }

  /** The model's tables, in the layout's order; null where any is not there. */
  #tables() {
    if (!this.model) return null;
    const { constants: { layout }, checkpoint } = this.model;
    const layers = layout.layers.flatMap(({ layerId }) =>
      checkpoint.layers.filter((layer) => layer.layerId === layerId && layer.embed !== null)
    );
    return layers.length === layout.layers.length ? layers : null;
  }
}
