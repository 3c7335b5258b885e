import { isSyncSource } from "../lib/bytes/byte_source.ts";
import type { Checkpoint, EngramLayer } from "../lib/checkpoint/checkpoint.ts";
import type { Kernels } from "../lib/engram/kernels.ts";
import { type LayerRows, type RankChoice, rankRows, wholeRows } from "../lib/engram/layer_rows.ts";
import type { RankRows } from "../lib/engram/rank_embedding.ts";
import { EngramError } from "../lib/errors.ts";
import type { LayerLayout, Layout } from "../lib/layout/layout.ts";
import { type Offload, openOffload } from "../lib/offload/open_offload.ts";
import { openShards, type ShardSet } from "../lib/shards/shard_set.ts";
import type { RankOptions, RankRequest } from "./rank_options.ts";
import { type CacheCounts, type CachedStore, cachedStore } from "../lib/table/cached_store.ts";
import { fileStore } from "../lib/table/file_store.ts";
import type { RowStore } from "../lib/table/row_store.ts";
import { spreadStore } from "../lib/table/spread_store.ts";

/** The tables of a checkpoint or of its shards, and the split over ranks they are looked up by. */
export class LayerTables implements Disposable {
  /** The split over ranks, and the one rank wanted; null for none. */
  readonly choice: RankChoice | null;
  readonly #checkpoint: Checkpoint;
  readonly #layout: Layout | null;
  readonly #shards: ShardSet | null;
  readonly #offload: Offload | null;
  /** Bytes for a cache of rows; null for none. */
  readonly #cache: number | null;
  /** Threads that read the rows of a layer. */
  readonly #readers: number;
  /** By layer, and with shards by rank: calls for the same rows share threads and a cache. */
  readonly #stores = new Map<string, RowStore>();
  readonly #caches: CachedStore[] = [];

  private constructor(
    checkpoint: Checkpoint,
    layout: Layout | null,
    choice: RankChoice | null,
    shards: ShardSet | null,
    offload: Offload | null,
    { cache, readers }: { cache: number | null; readers: number },
  ) {
    this.#checkpoint = checkpoint;
    this.#layout = layout;
    this.choice = choice;
    this.#shards = shards;
    this.#offload = offload;
    this.#cache = cache;
    this.#readers = readers;
  }

  /**
   * Opens the shards where a folder of them is given; their split is then the one used. Without
   * a layout rows can be looked up by number only, and not by rank.
   */
  static async open(
    checkpoint: Checkpoint,
    layout: Layout | null,
    request: RankRequest | null,
    options: Pick<RankOptions, "shards" | "offload" | "cache" | "readers">,
  ): Promise<LayerTables> {
    const { shards: folder, offload, cache = null } = options;
    const reading = { cache, readers: options.readers ?? navigator.hardwareConcurrency };
    if (folder === undefined) {
      const { tp } = request ?? {};
      const choice = tp === undefined ? null : { ...request, tp };
      const packed = offload === undefined ? null : await openWhole(offload);
      return new LayerTables(checkpoint, layout, choice, null, packed, reading);
    }
    if (offload !== undefined) {
      throw new EngramError("usage", "Cannot read tables from both --shards and --offload");
    }
    const shards = await openShards(folder, layout!, checkpoint.config.headDim);
    const { split } = shards;
    for (const name of ["tp", "dp", "split"] as const) {
      const asked = request?.[name];
      if (asked === undefined || asked === split[name]) continue;
      shards.close();
      throw new EngramError(
        "mismatch",
        `Cannot use the shards in \`${folder}\`: their ${name} is ${split[name]}, wanted ${asked}`,
        { where: folder, hint: `Leave out --${name}: the shards say how they are split` },
      );
    }
    const choice = { ...request, ...split };
    return new LayerTables(checkpoint, layout, choice, shards, null, reading);
  }

  /** The layers to work on: the checkpoint's, their weights from a shard where it has none. */
  get layers(): readonly EngramLayer[] {
    const { layers } = this.#checkpoint;
    if (!this.#shards) return layers;
    return layers.map((layer) =>
      layer.wkv ? layer : this.#shards!.layer(this.choice?.rank ?? 0, layer.layerId)
    );
  }

  /** Where a rank's rows of a layer are read. */
  rankRows(layerId: number, rank: number): RankRows {
    const shards = this.#shards;
    if (shards) {
      const open = () => storeOf(shards.layer(rank, layerId), this.#readers);
      return { store: this.#store(`${layerId} of ${rank}`, open), whole: false };
    }
    const open = () =>
      this.#offload?.store(layerId) ?? storeOf(this.#checkpoint.layer(layerId), this.#readers);
    return { store: this.#store(`${layerId}`, open), whole: true };
  }

  /** What the caches have answered; null without any. */
  get cacheCounts(): CacheCounts | null {
    if (this.#cache === null) return null;
    const counts = { requests: 0, hits: 0, reads: 0 };
    for (const { counts: { requests, hits, reads } } of this.#caches) {
      counts.requests += requests;
      counts.hits += hits;
      counts.reads += reads;
    }
    return counts;
  }

  #store(key: string, open: () => RowStore): RowStore {
    let store = this.#stores.get(key);
    if (!store) this.#stores.set(key, store = this.#cached(open()));
    return store;
  }

  /** `store` behind its share of the cache: every layer, and of shards every rank, has the same. */
  #cached(store: RowStore): RowStore {
    if (this.#cache === null) return store;
    const { rank, tp = 1, dp = 1 } = this.choice ?? {};
    const ranks = this.#shards && rank === undefined ? tp * dp : 1;
    const share = Math.floor(this.#cache / (this.#checkpoint.layers.length * ranks));
    const cached = cachedStore(store, share);
    this.#caches.push(cached);
    return cached;
  }

  /** A layer's columns; an error where its table has fewer rows than they need. */
  layout(layerId: number): LayerLayout | null {
    const layout = this.#layout?.layers.find((layer) => layer.layerId === layerId) ?? null;
    const { embed, rows } = this.#checkpoint.layer(layerId);
    if (!layout || this.#shards || !embed || rows >= layout.rows) return layout;
    throw new EngramError(
      "mismatch",
      `Cannot look up in layer ${layerId}: its table has ${rows} rows, ` +
        `wanted ${layout.rows}, the sum of its primes`,
      { where: embed.weight.source.name },
    );
  }

  /** How a layer's rows are looked up: whole, or by the split's ranks. */
  lookup(kernels: Kernels, layerId: number): LayerRows {
    const layout = this.layout(layerId);
    if (this.choice && layout) {
      return rankRows(kernels, layout, this.choice, (rank) => this.rankRows(layerId, rank));
    }
    const { store } = this.rankRows(layerId, 0);
    return wholeRows(kernels, store, layout ? layout.offsets.length : 1);
  }

  /** Rows a layer can be asked for by number. */
  rows(layerId: number): number {
    return this.#shards ? this.layout(layerId)!.rows : this.#checkpoint.layer(layerId).rows;
  }

  /** For people. */
  get place(): string {
    if (this.#offload) return `packed rows in ${this.#offload.folder}`;
    return this.#shards ? `shards in ${this.#shards.folder}` : "the checkpoint";
  }

  /** Closes shards and packed rows; the checkpoint stays open. */
  [Symbol.dispose](): void {
    for (const store of this.#stores.values()) store.close();
    this.#shards?.close();
    this.#offload?.close();
  }
}

/** A layer's rows: of local files by several threads, where many are asked for. */
function storeOf(layer: EngramLayer, readers: number): RowStore {
  const isLocal = layer.embed && isSyncSource(layer.embed.weight.source);
  return isLocal && readers > 1 ? spreadStore(layer, { workers: readers }) : fileStore(layer);
}

/** Packed rows of whole tables: ids of all ranks are looked up in them. */
async function openWhole(folder: string): Promise<Offload> {
  const offload = await openOffload(folder);
  const { rank } = offload.manifest;
  if (rank === null) return offload;
  offload.close();
  throw new EngramError(
    "mismatch",
    `Cannot read tables from \`${folder}\`: it holds only rank ${rank.rank} of tp ${rank.tp} × dp ${rank.dp}`,
    { where: folder, hint: "Pack the whole tables: `engram offload CHECKPOINT --out DIR`" },
  );
}
