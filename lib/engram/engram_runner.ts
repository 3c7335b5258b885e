import type { HashBatch } from "../hash/hash_batch.ts";
import type { RowStore } from "../table/row_store.ts";
import type { Bf16, GateOutput, GateWeights, ProjectionWeights } from "./kernels.ts";

/** What one layer of the module is made of. */
export interface RunnerLayer {
  /** Where the layer's rows are kept; the runner reads it and does not close it. */
  readonly store: RowStore;
  /** The layer's `wkv`. */
  readonly projection: ProjectionWeights;
  /** The layer's gate. */
  readonly gate: GateWeights;
}

/** Intermediate results a caller wants beside the gate and the output. */
export interface Kept {
  /** Row numbers. */
  readonly ids?: boolean;
  /** Looked-up rows. */
  readonly rows?: boolean;
  /** Projected keys and value. */
  readonly kv?: boolean;
}

/** One batch for the whole module, T tokens. */
export interface RunnerInput {
  /** The tokens, as the hash takes them. */
  readonly batch: HashBatch;
  /** bf16 [T, copies, hidden] for each layer, in the layout's order. */
  readonly streams: readonly Bf16[];
  /** 1 keeps, 0 lets the stream pass unchanged, [T]; absent keeps all. */
  readonly mask?: Uint8Array;
  /** What to give back beside the gate and the output. */
  readonly keep?: Kept;
}

/** What one layer gives for a batch. */
export interface RunnerLayerOutput extends GateOutput {
  /** Int32 [T, columns], on request. */
  readonly ids?: Int32Array;
  /** bf16 [T, columns, headDim], on request. */
  readonly rows?: Bf16;
  /** bf16 [T, (copies + 1) * hidden], on request. */
  readonly kv?: Bf16;
}

/**
 * The whole module on one device: hash, lookup, projection and gate of every layer, with weights (and,
 * where it pays, tables) kept on the device between batches. Start the next batch before awaiting the
 * last one to overlap upload, kernels and download; two at a time are enough.
 */
export interface EngramRunner {
  /** For people: the device, and where each layer's rows are read. */
  readonly note: string;
  /** Runs a batch; one result for each layer, in the layout's order. */
  run(input: RunnerInput): Promise<RunnerLayerOutput[]>;
  /** Frees what the device holds. */
  close(): void;
}
