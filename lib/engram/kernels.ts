import type { HashBatch } from "../hash/hash_batch.ts";
import type { SlotCache } from "../hash/slot_cache.ts";
import type { Layout } from "../layout/layout.ts";
import type { RowEncoding } from "../table/row_store.ts";

/** bf16 values are kept as their 16 bits in a Uint16Array everywhere. */
export type Bf16 = Uint16Array;

/** One layer's `wkv`: fp8 weight tiles, or plain bf16 where the checkpoint holds that. */
export interface ProjectionWeights {
  /** Output features: (copies + 1) * hidden. */
  readonly outFeatures: number;
  /** Input features: columns * headDim. */
  readonly inFeatures: number;
  /** fp8 e4m3fn codes [outFeatures, inFeatures], or bf16 bits of the same shape. */
  readonly codes: Uint8Array | Uint16Array;
  /** ue8m0 scale bytes [ceil(out / blockRows), ceil(in / blockColumns)]; absent with bf16 codes. */
  readonly scales?: Uint8Array;
  /** Tile that shares one scale: rows, columns. */
  readonly block: readonly [number, number];
}

/** One layer's gate parameters. */
export interface GateWeights {
  /** Width of the stream. */
  readonly hidden: number;
  /** Copies of the stream. */
  readonly copies: number;
  /** bf16 [copies, hidden]. */
  readonly q: Bf16;
  /** bf16 [copies, hidden]. */
  readonly k: Bf16;
  /** Epsilon of the norms. */
  readonly eps: number;
}

/** What the gate works on. */
export interface GateInput {
  /** T. */
  readonly tokens: number;
  /** bf16 [T, copies, hidden]. */
  readonly stream: Bf16;
  /** bf16 [T, (copies + 1) * hidden]: the keys of each copy, then the value. */
  readonly kv: Bf16;
  /** 1 keeps, 0 lets the stream pass unchanged, [T]; absent keeps all. */
  readonly mask?: Uint8Array;
}

/** What the gate gives. */
export interface GateOutput {
  /** F32 [T, copies]. */
  readonly gate: Float32Array;
  /** bf16 [T, copies, hidden]. */
  readonly output: Bf16;
}

/** The rows a lookup reads from: records held whole in memory, of one layer or one rank's share. */
export interface KernelTable {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Codes of the held rows [rows, codeBytes]. */
  readonly codes: Uint8Array;
  /** Scales of the held rows [rows, scaleBytes]. */
  readonly scales: Uint8Array;
  /** Global row number of the first held row. */
  readonly rowStart: number;
  /** Held rows. */
  readonly rows: number;
}

/** Which columns of the ids a lookup serves. Ids outside the table's rows, or negative, give zeros. */
export interface LookupInput {
  /** T. */
  readonly tokens: number;
  /** Columns of `ids`. */
  readonly columns: number;
  /** Global rows [T, columns]. */
  readonly ids: Int32Array;
  /** The columns to serve, in output order; a column past `columns` (padding) gives zeros. */
  readonly local: readonly number[];
}

/** Row results gathered over ranks, to be re-laid for sequence parallel. */
export interface RelayInput {
  /** Ranks. */
  readonly tp: number;
  /** The rank the result is for. */
  readonly rank: number;
  /** T, over all ranks. */
  readonly tokens: number;
  /** Columns a rank owns (padding included). */
  readonly localColumns: number;
  /** Real columns. */
  readonly columns: number;
  /** Values in a row. */
  readonly headDim: number;
  /** bf16 [tp, T, localColumns * headDim]. */
  readonly gathered: Bf16;
}

/**
 * The module's kernels on one device. The CPU's are the slow, obvious specification; the GPU's must
 * pass the same tests. Zero tokens give empty results everywhere.
 */
export interface Kernels {
  /** Which device runs them. */
  readonly device: "cpu" | "gpu";
  /** For people: "CPU", or the adapter's name. */
  readonly description: string;
  /** Rows hashed for each token, Int32 [T, layers, columns]. `cache` serves lookbacks before the chunk. */
  hash(layout: Layout, padId: number, batch: HashBatch, cache?: SlotCache): Promise<Int32Array>;
  /** bf16 [T, local.length, headDim]. */
  lookup(table: KernelTable, input: LookupInput): Promise<Bf16>;
  /** bf16 [n, headDim] of whole records [n, recordBytes], codes and then scales. */
  decode(encoding: RowEncoding, records: Uint8Array): Promise<Bf16>;
  /** bf16 [T, outFeatures] of bf16 rows [T, inFeatures], float32 sums. */
  project(weights: ProjectionWeights, rows: Bf16, tokens: number): Promise<Bf16>;
  /** The gate and the gated stream. */
  gate(weights: GateWeights, input: GateInput): Promise<GateOutput>;
  /** bf16 [chunk, columns, headDim], chunk = ceil(T / tp); tokens past the end are zeros. */
  relay(input: RelayInput): Promise<Bf16>;
  /** Frees what the device holds. */
  close(): void;
}
