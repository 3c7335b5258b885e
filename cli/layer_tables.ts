import type { Checkpoint, EngramLayer } from "../lib/checkpoint/checkpoint.ts";
import type { Kernels } from "../lib/engram/kernels.ts";
import { type LayerRows, type RankChoice, rankRows, wholeRows } from "../lib/engram/layer_rows.ts";
import type { RankRows } from "../lib/engram/rank_embedding.ts";
import { EngramError } from "../lib/errors.ts";
import type { LayerLayout, Layout } from "../lib/layout/layout.ts";
import { type Offload, openOffload } from "../lib/offload/open_offload.ts";
import { checkSource } from "../lib/shards/check_source.ts";
import { openShards, type ShardSet } from "../lib/shards/shard_set.ts";
import type { RankOptions, RankRequest } from "./rank_options.ts";
import { type CacheCounts, type CachedStore, cachedStore } from "../lib/table/cached_store.ts";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import type { RowStore } from "../lib/table/row_store.ts";
import type { StoredLayer } from "../lib/table/table_parts.ts";
import type { Context } from "./command.ts";
import { type PlacedTable, placesText, TablePlacement } from "./table_placement.ts";

/** How the options say tables are read. */
type Reading = Pick<RankOptions, "cache" | "readers" | "backend" | "gpuMemory">;

/** The tables of a checkpoint or of its shards, and the split over ranks they are looked up by. */
export class LayerTables implements Disposable {
  /** The split over ranks, and the one rank wanted; null for none. */
  readonly choice: RankChoice | null;
  readonly #checkpoint: Checkpoint;
  readonly #layout: Layout | null;
  readonly #shards: ShardSet | null;
  readonly #offload: Offload | null;
  readonly #reading: Reading;
  /** By layer, and with shards by rank. */
  readonly #stores = new Map<string, RowStore>();
  readonly #caches: CachedStore[] = [];

  private constructor(
    checkpoint: Checkpoint,
    layout: Layout | null,
    choice: RankChoice | null,
    shards: ShardSet | null,
    offload: Offload | null,
    reading: Reading,
  ) {
    this.#checkpoint = checkpoint;
    this.#layout = layout;
    this.choice = choice;
    this.#shards = shards;
    this.#offload = offload;
    this.#reading = reading;
  }

  /**
   * Opens the shards where a folder of them is given; their split is then the one used. Without
   * a layout rows can be looked up by number only, and not by rank. Rows can be read once they are
   * loaded: see {@linkcode load}.
   */
  static async open(
    checkpoint: Checkpoint,
    layout: Layout | null,
    request: RankRequest | null,
    options: Pick<RankOptions, "shards" | "offload"> & Reading,
  ): Promise<LayerTables> {
    const { shards: folder, offload } = options;
    if (folder === undefined) {
      const { tp } = request ?? {};
      const choice = tp === undefined ? null : { ...request, tp };
      const packed = offload === undefined ? null : await openWhole(offload, checkpoint, layout);
      return new LayerTables(checkpoint, layout, choice, null, packed, options);
    }
    if (offload !== undefined) {
      throw new EngramError("usage", "Cannot read tables from both --shards and --offload");
    }
    const shards = await openShards(folder, layout!, checkpoint.config.headDim);
    try {
      await checkSource(checkpoint, shards.source, folder);
    } catch (error) {
      shards.close();
      throw error;
    }
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
    return new LayerTables(checkpoint, layout, choice, shards, null, options);
  }

  /** The layers to work on: the checkpoint's, their weights from a shard where it has none. */
  get layers(): readonly EngramLayer[] {
    const { layers } = this.#checkpoint;
    if (!this.#shards) return layers;
    return layers.map((layer) =>
      layer.wkv ? layer : this.#shards!.layer(this.choice?.rank ?? 0, layer.layerId)
    );
  }

  /** Opens the tables of some layers where the options want them, and says where that is. */
  async load(
    layerIds: readonly number[],
    opened: OpenedKernels,
    { printer, signal, progress }: Context,
  ): Promise<void> {
    const { readers = navigator.hardwareConcurrency } = this.#reading;
    const placement = new TablePlacement(this.#reading, { opened, readers, signal, progress });
    const placed: PlacedTable[] = [];
    for (const layerId of layerIds) {
      for (const rank of this.#ranks) {
        const table = await placement.open(this.#stored(layerId, rank));
        this.#stores.set(this.#key(layerId, rank), this.#cached(table.store));
        placed.push(table);
      }
    }
    printer.note(`rows: of ${this.place}, ${placesText(placed, opened)}`);
  }

  /** Where a rank's rows of a layer are read. */
  rankRows(layerId: number, rank: number): RankRows {
    const store = this.#stores.get(this.#key(layerId, rank));
    if (!store) throw new Error(`layer ${layerId} of rank ${rank} was not loaded`);
    return { store, whole: this.#shards === null };
  }

  /** The ranks that tables are read for apart: without shards all read the same. */
  get #ranks(): readonly number[] {
    if (!this.#shards) return [0];
    const { ranks } = this.#shards;
    const all = Array.from({ length: ranks }, (_, rank) => rank);
    // One that is not there is refused where it is looked up.
    return this.choice?.rank === undefined ? all : all.filter((rank) => rank === this.choice!.rank);
  }

  #key(layerId: number, rank: number): string {
    return this.#shards ? `${layerId} of ${rank}` : `${layerId}`;
  }

  #stored(layerId: number, rank: number): StoredLayer {
    return this.#shards?.layer(rank, layerId) ?? this.#offload?.layer(layerId) ??
      this.#checkpoint.layer(layerId);
  }

  /** What the caches have answered; null without any. */
  get cacheCounts(): CacheCounts | null {
    if (this.#reading.cache === undefined) return null;
    const counts = { requests: 0, hits: 0, reads: 0 };
    for (const { counts: { requests, hits, reads } } of this.#caches) {
      counts.requests += requests;
      counts.hits += hits;
      counts.reads += reads;
    }
    return counts;
  }

  /** `store` behind its share of the cache: every layer, and of shards every rank, has the same. */
  #cached(store: RowStore): RowStore {
    const { cache } = this.#reading;
    if (cache === undefined) return store;
    const tables = this.#checkpoint.layers.length * this.#ranks.length;
    const cached = cachedStore(store, Math.floor(cache / tables));
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

/** Packed rows of whole tables: ids of all ranks are looked up in them. */
async function openWhole(
  folder: string,
  checkpoint: Checkpoint,
  layout: Layout | null,
): Promise<Offload> {
  const offload = await openOffload(folder);
  try {
    const { rank, source } = offload.manifest;
    if (rank !== null) {
      throw new EngramError(
        "mismatch",
        `Cannot read tables from \`${folder}\`: it holds only rank ${rank.rank} of tp ${rank.tp} × dp ${rank.dp}`,
        { where: folder, hint: "Pack the whole tables: `engram offload CHECKPOINT --out DIR`" },
      );
    }
    await checkSource(checkpoint, source, folder);
    for (const { layerId, rows } of layout?.layers ?? []) {
      const held = offload.layer(layerId).rows;
      if (held >= rows) continue;
      throw new EngramError(
        "mismatch",
        `Cannot read tables from \`${folder}\`: it holds ${held} rows of layer ${layerId}, ` +
          `wanted ${rows}, the sum of its primes`,
        { where: folder, hint: "It was packed from a checkpoint with another config" },
      );
    }
    return offload;
  } catch (error) {
    offload.close();
    throw error;
  }
}
