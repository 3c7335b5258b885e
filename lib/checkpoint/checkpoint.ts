import { EngramError } from "../errors.ts";
import type { SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import type { CheckpointFiles } from "./checkpoint_files.ts";
import type { EngramConfig } from "./engram_config.ts";
import type { RowEncoding } from "./row_encoding.ts";

/** A tensor of codes and its scales, where it has any. */
export interface ScaledTensor {
  /** The codes, or plain values. */
  readonly weight: Tensor;
  /** The scales; null for plain values and for packed records. */
  readonly scale: Tensor | null;
}

/** One Engram layer of an open checkpoint. Tensors are null where only a config was opened. */
export interface EngramLayer {
  /** The decoder layer's id. */
  readonly layerId: number;
  /** How a row is decoded; from a config alone the released encoding. */
  readonly encoding: RowEncoding;
  /** Rows of the table's tensor, padding rows included; from a config alone what it says, or 0. */
  readonly rows: number;
  /** Whether `embed.weight` holds whole records, codes then scales: one read a row. */
  readonly packed: boolean;
  /** The table. */
  readonly embed: ScaledTensor | null;
  /** The projection; also null in a single file that holds only the table. */
  readonly wkv: ScaledTensor | null;
  /** The gate's query norm weight; as `wkv`. */
  readonly qWeight: Tensor | null;
  /** The gate's key norm weight; as `wkv`. */
  readonly kWeight: Tensor | null;
}

/** An open checkpoint: what its config says and where its Engram tensors lie. */
export interface Checkpoint {
  /** The path or URL that was given. */
  readonly place: string;
  /** What the config says. */
  readonly config: EngramConfig;
  /** What was found there; no files where only a config was given. */
  readonly source: CheckpointFiles;
  /** The open safetensors files by name. */
  readonly files: ReadonlyMap<string, SafetensorsFile>;
  /** All tensors by name, those of no Engram layer too. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The Engram layers, in the config's order; with a single file those it holds. */
  readonly layers: readonly EngramLayer[];
  /** Path or URL of the tokenizer beside the files, where there is one. */
  readonly tokenizerPath: string | null;
  /** What is odd but does not keep the checkpoint from being used. */
  readonly warnings: readonly string[];
  /** The layer with this id; one that is not there is an error. */
  layer(id: number): EngramLayer;
  /** Closes all files. */
  close(): void;
}

/** A layer's table; an error where only a config was opened. */
export function tableOf(layer: Pick<EngramLayer, "layerId" | "embed">): ScaledTensor {
  return layer.embed ?? lacking(layer, "table (embed.weight)");
}

/** A layer's projection and gate weights; an error where they are not in what was opened. */
export function moduleOf(
  layer: EngramLayer,
): { wkv: ScaledTensor; qWeight: Tensor; kWeight: Tensor } {
  const { wkv, qWeight, kWeight } = layer;
  if (wkv && qWeight && kWeight) return { wkv, qWeight, kWeight };
  const missing = [wkv ? "" : "wkv.weight", qWeight ? "" : "q_weight", kWeight ? "" : "k_weight"];
  return lacking(layer, missing.filter(Boolean).join(", "));
}

function lacking(layer: Pick<EngramLayer, "layerId">, what: string): never {
  throw new EngramError(
    "unavailable",
    `Cannot read Engram layer ${layer.layerId}: its ${what} is not in what was opened`,
    { hint: "Give the folder with all of the model's files" },
  );
}
