import { join } from "node:path";
import { rawFile } from "../safetensors/raw_file.ts";

/** A tensor to write; bytes are zeros unless given. */
export interface SmallTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data?: Uint8Array;
}

/**
 * Two Engram layers by hand: primes 5 7 11 13 (36 rows) and 17 19 23 29 (88 rows), in the order
 * the rule draws them from a bound of 5.
 */
export const SMALL_CONFIG = {
  engram_layer_ids: [1, 3],
  engram_num_embeddings: [36, 88],
  engram_max_ngram_size: 3,
  engram_n_heads: 2,
  engram_head_dim: 32,
  engram_vocab_size: 5,
  engram_compressed_vocab_size: 1000,
  engram_pad_token_id: 2,
  hidden_size: 32,
  hc_mult: 2,
  rms_norm_eps: 1e-20,
};

/** The six tensors of a layer that fits {@linkcode SMALL_CONFIG}. */
export function layerTensors(layer: number, rows: number, prefix = ""): SmallTensor[] {
  const of = (name: string, dtype: string, shape: number[]) => ({
    name: `${prefix}layers.${layer}.engram.${name}`,
    dtype,
    shape,
  });
  return [
    of("embed.weight", "F8_E4M3", [rows, 32]),
    of("embed.scale", "F8_E8M0", [rows, 1]),
    of("wkv.weight", "F8_E4M3", [96, 128]),
    of("wkv.scale", "F8_E8M0", [3, 4]),
    of("q_weight", "BF16", [2, 32]),
    of("k_weight", "BF16", [2, 32]),
  ];
}

/** All tensors of {@linkcode SMALL_CONFIG}. */
export function smallTensors(): SmallTensor[] {
  return [...layerTensors(1, 36), ...layerTensors(3, 88)];
}

/** One of `tensors` replaced, or removed where `change` gives null. */
export function change(
  tensors: readonly SmallTensor[],
  name: string,
  change: (tensor: SmallTensor) => SmallTensor | null,
): SmallTensor[] {
  return tensors.flatMap((tensor) =>
    tensor.name === name ? [change(tensor)].filter((made) => made !== null) : [tensor]
  );
}

const BITS: Readonly<Record<string, number>> = {
  BF16: 16,
  F16: 16,
  F32: 32,
  I32: 32,
  I64: 64,
  F64: 64,
};

/** The bytes of a safetensors file with `tensors`. */
export function fileBytes(
  tensors: readonly SmallTensor[],
  metadata?: Record<string, string>,
): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  const sizes = tensors.map(({ name, dtype, shape }) => {
    const size = shape.reduce((a, b) => a * b, 1) * (BITS[dtype] ?? 8) / 8;
    header[name] = { dtype, shape, data_offsets: [end, end + size] };
    end += size;
    return size;
  });
  const data = new Uint8Array(end);
  let at = 0;
  tensors.forEach(({ data: bytes }, i) => {
    if (bytes) data.set(bytes, at);
    at += sizes[i];
  });
  return rawFile(JSON.stringify(header), data);
}

/** What {@linkcode writeCheckpoint} writes. */
export interface SmallCheckpoint {
  /** Tensors by file name. */
  readonly files?: Readonly<Record<string, readonly SmallTensor[]>>;
  /** The config; null for none. */
  readonly config?: unknown;
  /** The index's `weight_map`; `true` for the one that fits the files. */
  readonly index?: Readonly<Record<string, unknown>> | true;
}

/** Writes a checkpoint into `folder` and returns the folder. */
export function writeCheckpoint(folder: string, checkpoint: SmallCheckpoint): string {
  const { files = {}, config = SMALL_CONFIG, index } = checkpoint;
  Deno.mkdirSync(folder, { recursive: true });
  for (const [name, tensors] of Object.entries(files)) {
    Deno.writeFileSync(join(folder, name), fileBytes(tensors));
  }
  if (config !== null) {
    Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(config));
  }
  if (index) {
    const map = index === true ? weightMap(files) : index;
    writeIndex(folder, map);
  }
  return folder;
}

/** The `weight_map` that fits `files`. */
export function weightMap(
  files: Readonly<Record<string, readonly SmallTensor[]>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).flatMap(([file, tensors]) => tensors.map(({ name }) => [name, file])),
  );
}

/** Writes `model.safetensors.index.json`. */
export function writeIndex(folder: string, map: Readonly<Record<string, unknown>>): void {
  Deno.writeTextFileSync(
    join(folder, "model.safetensors.index.json"),
    JSON.stringify({ metadata: {}, weight_map: map }),
  );
}
