import { EngramError } from "../lib/errors.ts";
import type { OpenedKernels } from "../lib/gpu/open_kernels.ts";
import type { RowStore } from "../lib/table/row_store.ts";
import type { StoredLayer } from "../lib/table/table_parts.ts";
import type { RankOptions } from "./rank_options.ts";
import { isLocal, openRows, type RowBackendOptions } from "./row_backends.ts";
import { bytes } from "./units.ts";

/** What `auto` keeps on the GPU unless told otherwise: as much as is loaded while one waits. */
export const AUTO_BYTES = 2 ** 28;

/** A table that was opened. */
export interface PlacedTable {
  readonly layerId: number;
  readonly store: RowStore;
  /** Whether it is on the GPU. */
  readonly resident: boolean;
  /** Why it is not there, where it might have been. */
  readonly why: string | null;
}

/** Decides, table by table, where rows are read, and opens them there. */
export class TablePlacement {
  readonly #backend: NonNullable<RankOptions["backend"]>;
  readonly #cached: boolean;
  readonly #options: RowBackendOptions;
  /** Bytes that may still be kept on the GPU. */
  #left: number;

  constructor(
    { backend = "auto", gpuMemory, cache }: Pick<RankOptions, "backend" | "gpuMemory" | "cache">,
    options: RowBackendOptions,
  ) {
    if (backend === "gpu" && cache !== undefined) {
      throw new EngramError("usage", "Cannot use --cache with --backend gpu: rows are all there");
    }
    if (gpuMemory !== undefined && backend !== "auto" && backend !== "gpu") {
      throw new EngramError("usage", `Cannot use --gpu-memory with --backend ${backend}`);
    }
    this.#backend = backend;
    this.#cached = cache !== undefined;
    this.#options = options;
    this.#left = gpuMemory ?? (backend === "gpu" ? Infinity : AUTO_BYTES);
  }

  /** Opens a layer's table where it is to be. */
  async open(layer: StoredLayer): Promise<PlacedTable> {
    if (this.#backend === "auto") return await this.#choose(layer);
    const resident = this.#backend === "gpu";
    if (resident) this.#reserve(layer);
    const store = await openRows(this.#backend, layer, this.#options);
    return { layerId: layer.layerId, store, resident, why: null };
  }

  /** The GPU, for small tables of this machine; else the file. */
  async #choose(layer: StoredLayer): Promise<PlacedTable> {
    const why = this.#whyNot(layer);
    if (why !== null) return await this.#fromFile(layer, why || null);
    try {
      const store = await openRows("gpu", layer, this.#options);
      this.#left -= tableBytes(layer);
      return { layerId: layer.layerId, store, resident: true, why: null };
    } catch (error) {
      if (!(error instanceof EngramError) || error.kind !== "unavailable") throw error;
      return await this.#fromFile(layer, error.message);
    }
  }

  /** Why `auto` leaves a table where it is: empty where that goes without saying; null if it does not. */
  #whyNot(layer: StoredLayer): string | null {
    if (!this.#options.opened.keep) return "";
    if (this.#cached) return "rows are cached on the host";
    if (!isLocal(layer)) return "the whole table would have to be fetched";
    const needed = tableBytes(layer);
    if (needed <= this.#left) return null;
    return `the table's ${bytes(needed)} are more than the ${bytes(this.#left)} for it on the GPU`;
  }

  async #fromFile(layer: StoredLayer, why: string | null): Promise<PlacedTable> {
    const store = await openRows("file", layer, this.#options);
    return { layerId: layer.layerId, store, resident: false, why };
  }

  #reserve(layer: StoredLayer): void {
    const needed = tableBytes(layer);
    if (needed > this.#left) {
      throw new EngramError(
        "unavailable",
        `Cannot keep the table of layer ${layer.layerId} on the GPU: it takes ${needed} bytes, ` +
          `and --gpu-memory leaves ${this.#left}`,
        { where: "--gpu-memory", hint: "Use `--backend auto`: it keeps there what fits" },
      );
    }
    this.#left -= needed;
  }
}

function tableBytes({ rows, encoding }: Pick<StoredLayer, "rows" | "encoding">): number {
  return rows * encoding.recordBytes;
}

/** For people: in what way rows come from where tables were placed, by layer where these differ. */
export function placesText(
  placed: readonly PlacedTable[],
  { keep }: Pick<OpenedKernels, "keep">,
): string {
  const way = ({ store, resident, why }: PlacedTable) => {
    if (resident) return "on the GPU";
    const path = keep ? ", gathered on the host and uploaded" : "";
    return `from ${store.place}${path}${why === null ? "" : `: ${why}`}`;
  };
  const ways = Map.groupBy(placed, way);
  return [...ways].map(([text, tables]) => {
    const ids = [...new Set(tables.map(({ layerId }) => layerId))];
    const layers = ways.size === 1 ? "" : `layer${ids.length === 1 ? "" : "s"} ${ids.join(", ")} `;
    const size = tables.reduce((sum, { store }) => sum + tableBytes(store), 0);
    return `${layers}${text}${tables[0].resident ? ` (${bytes(size)})` : ""}`;
  }).join("; ");
}
