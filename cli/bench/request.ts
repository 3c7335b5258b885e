import type { BenchBackend } from "./backends.ts";
import type { IdKind } from "./id_streams.ts";
import type { BenchResult } from "./record.ts";
import type { Sampling } from "./sample.ts";

/** What `engram bench` was asked for; every list is swept over. */
export interface BenchRequest {
  /** A checkpoint, or null for a synthetic one in the released layout. */
  readonly checkpoint: string | null;
  /** Bytes of a synthetic layer's table. */
  readonly tableBytes: number;
  readonly tokens: readonly number[];
  readonly ids: readonly IdKind[];
  /** Text for ids of kind `text`, with the tokenizer to read it by. */
  readonly text: string | null;
  readonly tokenizer: string | null;
  /** Where rows are to be read; null for what the benchmark measures unless told otherwise. */
  readonly backends: readonly BenchBackend[] | null;
  readonly cache: readonly ("warm" | "cold")[];
  readonly tp: readonly number[];
  readonly device: "auto" | "gpu" | "cpu";
  /** Kernels to time on the GPU's clock; empty for all but the whole released table. */
  readonly kernels: readonly string[];
  /** Whether to run numpy's figures beside ours, through Python. */
  readonly python: boolean;
  readonly sampling: Sampling;
  /** A folder for what the benchmark writes; removed afterwards by the caller. */
  readonly scratch: string;
  /** Remarks on cases that could not be run, with the reason. */
  note(text: string): void;
}

/** One benchmark: its cases one after another, as they are measured. */
export type Workload = (request: BenchRequest) => AsyncIterable<BenchResult>;
