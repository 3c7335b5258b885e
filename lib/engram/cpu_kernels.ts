import type { HashBatch } from "../hash/hash_batch.ts";
import { NgramHasher } from "../hash/ngram_hasher.ts";
import type { SlotCache } from "../hash/slot_cache.ts";
import type { Layout } from "../layout/layout.ts";
import { decodeRecords } from "../table/decode_rows.ts";
import type { RowEncoding } from "../table/row_store.ts";
import { gate } from "./gate.ts";
import type {
  Bf16,
  GateInput,
  GateOutput,
  GateWeights,
  Kernels,
  KernelTable,
  LookupInput,
  ProjectionWeights,
  RelayInput,
} from "./kernels.ts";
import { lookup } from "./lookup.ts";
import { project } from "./project.ts";
import { relay } from "./relay.ts";

/** The module's kernels in plain JavaScript: the specification the GPU's are tested against. */
export class CpuKernels implements Kernels {
  /** Runs on the CPU. */
  readonly device = "cpu";
  /** For people. */
  readonly description = "CPU";
  readonly #hashers = new WeakMap<Layout, Map<number, NgramHasher>>();

  /** Rows hashed for each token, Int32 [T, layers, columns]. */
  // deno-lint-ignore require-await -- the seam is asynchronous for the GPU's sake
  async hash(
    layout: Layout,
    padId: number,
    batch: HashBatch,
    cache?: SlotCache,
  ): Promise<Int32Array> {
    return this.#hasher(layout, padId).hash(batch, cache);
  }

  /** bf16 [T, local.length, headDim]. */
  // deno-lint-ignore require-await -- as above
  async lookup(table: KernelTable, input: LookupInput): Promise<Bf16> {
    return lookup(table, input);
  }

  /** bf16 [n, headDim] of whole records. */
  // deno-lint-ignore require-await -- as above
  async decode(encoding: RowEncoding, records: Uint8Array): Promise<Bf16> {
    const rows = new Uint16Array(records.length / encoding.recordBytes * encoding.headDim);
    decodeRecords(encoding, records, rows);
    return rows;
  }

  /** bf16 [T, outFeatures] of bf16 rows [T, inFeatures]. */
  // deno-lint-ignore require-await -- as above
  async project(weights: ProjectionWeights, rows: Bf16, tokens: number): Promise<Bf16> {
    return project(weights, rows, tokens);
  }

  /** The gate and the gated stream. */
  // deno-lint-ignore require-await -- as above
  async gate(weights: GateWeights, input: GateInput): Promise<GateOutput> {
    return gate(weights, input);
  }

  /** bf16 [chunk, columns, headDim]. */
  // deno-lint-ignore require-await -- as above
  async relay(input: RelayInput): Promise<Bf16> {
    return relay(input);
  }

  /** Nothing to free. */
  close(): void {}

  #hasher(layout: Layout, padId: number): NgramHasher {
    let byPad = this.#hashers.get(layout);
    if (!byPad) this.#hashers.set(layout, byPad = new Map());
    let hasher = byPad.get(padId);
    if (!hasher) byPad.set(padId, hasher = new NgramHasher(layout, padId));
    return hasher;
  }
}
