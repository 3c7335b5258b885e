import type { HashBatch } from "../hash/hash_batch.ts";
import type { Bf16 } from "./kernels.ts";

/** Hash and lookup of every layer: the first half of the module. */
export interface ModuleRows {
  /** The rows of a batch of T tokens: bf16 [T, columns, headDim] for each layer, in the layout's order. */
  run(batch: HashBatch): Promise<Bf16[]>;
  /** Frees what the device holds. */
  close(): void;
}
