import { join } from "node:path";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import type { RowEncoding } from "../../lib/table/row_store.ts";
import { type SmallTensor, writeCheckpoint } from "../checkpoint/small_checkpoint.ts";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { oracleHash } from "../hash/bigint_oracle.ts";
import { nearestBf16, randomBf16 } from "../kernels/bf16_oracle.ts";
import { gateOracle } from "../kernels/gate_oracle.ts";
import { projectOracle } from "../kernels/project_oracle.ts";
import { Random } from "../kernels/random.ts";

/** Sizes of a made-up model. */
export interface ModelSizes {
  readonly layerIds: readonly number[];
  readonly maxNgramSize: number;
  readonly nHeads: number;
  readonly headDim: number;
  readonly vocabSize: number;
  readonly hidden: number;
  readonly copies: number;
  readonly eps: number;
  /** How rows are kept; `packed` is fp8 in records. */
  readonly kind?: RowEncoding["kind"] | "packed";
  /** Rows beyond the sum of the primes. */
  readonly paddingRows?: number;
  /** Dtype of `wkv`; fp8 tiles unless given. */
  readonly wkv?: "fp8" | "bf16";
  readonly block?: readonly [number, number];
  readonly deadTokenIds?: readonly number[];
}

/** One layer's weights as the oracle sees them. */
interface ModelLayer {
  readonly id: number;
  readonly encoding: RowEncoding;
  readonly codes: Uint8Array;
  readonly scales: Uint8Array;
  readonly weights: Parameters<typeof projectOracle>[0];
  readonly gate: Parameters<typeof gateOracle>[0];
}

/** A small checkpoint with random weights, its tokenizer beside it, and what it must compute. */
export class SyntheticModel {
  readonly sizes: ModelSizes;
  readonly layout: Layout;
  /** Token id to compressed id. */
  readonly map: readonly number[];
  readonly padTokenId: number = 7;
  readonly layers: readonly ModelLayer[];
  readonly columns: number;

  constructor(sizes: ModelSizes, seed = 1) {
    this.sizes = sizes;
    const tokenizer = goldenJson<Record<string, { map: number[]; compressed_vocab_size: number }>>(
      "tokenizers/maps.json",
    ).small_bytelevel;
    this.map = tokenizer.map;
    this.layout = buildLayout({
      where: "synthetic",
      ...sizes,
      compressedVocabSize: tokenizer.compressed_vocab_size,
    });
    this.columns = this.layout.columns;
    const random = new Random(seed);
    this.layers = this.layout.layers.map(({ layerId, rows }) =>
      randomLayer(random, sizes, layerId, rows + (sizes.paddingRows ?? 0), this.columns)
    );
  }

  /** Writes the checkpoint into `folder`, and returns it. */
  write(folder: string): string {
    const { sizes, layout } = this;
    writeCheckpoint(folder, {
      files: { "model.safetensors": this.layers.flatMap((layer) => tensorsOf(layer, sizes)) },
      config: {
        text_config: {
          engram_layer_ids: sizes.layerIds,
          engram_num_embeddings: layout.layers.map(({ rows }) => rows),
          engram_max_ngram_size: sizes.maxNgramSize,
          engram_n_heads: sizes.nHeads,
          engram_head_dim: sizes.headDim,
          engram_vocab_size: sizes.vocabSize,
          engram_compressed_vocab_size: layout.compressedVocabSize,
          engram_pad_token_id: this.padTokenId,
          hidden_size: sizes.hidden,
          hc_mult: sizes.copies,
          rms_norm_eps: sizes.eps,
        },
        ...(sizes.deadTokenIds && { image_token_id: sizes.deadTokenIds }),
        quantization_config: { weight_block_size: sizes.block ?? [32, 32] },
      },
    });
    Deno.copyFileSync(
      goldenPath("tokenizers/small_bytelevel.json"),
      join(folder, "tokenizer.json"),
    );
    return folder;
  }

  /** Row numbers [tokens][layers * columns] of one request. */
  ids(tokenIds: ArrayLike<number>, dead: ArrayLike<number>): number[][] {
    return Array.from(
      { length: tokenIds.length },
      (_, t) =>
        oracleHash(this.layout, this.map[this.padTokenId], {
          position: t,
          source: (back) => (dead[t - back] ? "dead" : this.map[tokenIds[t - back]]),
        }),
    );
  }

  /** bf16 [ids.length, headDim] of a layer's rows. */
  rows(layer: number, ids: readonly number[]): Uint16Array {
    const { encoding, codes, scales } = this.layers[layer];
    return Uint16Array.from(ids.flatMap((id) => decodedRow(encoding, codes, scales, id)));
  }

  /** One layer's part of a request's ids [tokens * columns]. */
  layerIds(layer: number, ids: readonly number[][]): number[] {
    return ids.flatMap((row) => row.slice(layer * this.columns, (layer + 1) * this.columns));
  }

  /** Keys and value in doubles, of bf16 rows. */
  project(layer: number, rows: Uint16Array, tokens: number) {
    return projectOracle(this.layers[layer].weights, rows, tokens);
  }

  /** Gates and outputs in doubles. */
  gate(layer: number, input: Parameters<typeof gateOracle>[1]) {
    return gateOracle(this.layers[layer].gate, input);
  }
}

function randomLayer(
  random: Random,
  sizes: ModelSizes,
  id: number,
  rows: number,
  columns: number,
): ModelLayer {
  const { headDim, hidden, copies, eps, kind = "fp8", wkv = "fp8", block = [32, 32] } = sizes;
  const encoding = rowEncoding(kind === "packed" ? "fp8" : kind, headDim);
  const codes = random.bytes(rows * encoding.codeBytes);
  const scales = random.bytes(rows * encoding.scaleBytes);
  if (encoding.kind === "fp8") {
    codes.forEach((code, i) => (code & 0x7f) === 0x7f && (codes[i] = 0x30));
    scales.forEach((scale, i) => scales[i] = 118 + scale % 8);
  } else if (encoding.kind === "int8") {
    new Float32Array(scales.buffer).forEach((_, i, all) => all[i] = 0.01 * (1 + random.below(9)));
  } else {
    const view = new DataView(codes.buffer);
    for (let i = 0; i < rows * headDim; i++) {
      const value = random.normal();
      if (encoding.kind === "f32") view.setFloat32(4 * i, value, true);
      else if (encoding.kind === "f16") view.setFloat16(2 * i, value, true);
      else view.setUint16(2 * i, nearestBf16(value), true);
    }
  }
  const outFeatures = (copies + 1) * hidden;
  const inFeatures = columns * headDim;
  const tiles = Math.ceil(outFeatures / block[0]) * Math.ceil(inFeatures / block[1]);
  const q = randomBf16(random, copies * hidden);
  const k = randomBf16(random, copies * hidden);
  return {
    id,
    encoding,
    codes,
    scales,
    weights: {
      outFeatures,
      inFeatures,
      block,
      ...(wkv === "fp8"
        ? {
          codes: random.bytes(outFeatures * inFeatures).map((c) => (c & 0x7f) === 0x7f ? 0 : c),
          scales: Uint8Array.from({ length: tiles }, () => 114 + random.below(4)),
        }
        : { codes: randomBf16(random, outFeatures * inFeatures, 0.1) }),
    },
    gate: { hidden, copies, q, k, eps },
  };
}

function tensorsOf(layer: ModelLayer, sizes: ModelSizes): SmallTensor[] {
  const { encoding, codes, scales, weights, gate } = layer;
  const { headDim, hidden, copies, kind = "fp8" } = sizes;
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const rows = codes.length / codeBytes;
  const groups = Math.ceil(headDim / 32);
  const tensor = (name: string, dtype: string, shape: number[], data: ArrayBufferView) => ({
    name: `layers.${layer.id}.engram.${name}`,
    dtype,
    shape,
    data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  });
  const records = new Uint8Array(rows * recordBytes);
  for (let row = 0; row < rows; row++) {
    records.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), row * recordBytes);
    const from = row * scaleBytes;
    records.set(scales.subarray(from, from + scaleBytes), row * recordBytes + codeBytes);
  }
  const { outFeatures, inFeatures, block } = weights;
  const dtype = { fp8: "F8_E4M3", int8: "I8", bf16: "BF16", f16: "F16", f32: "F32" };
  return [
    ...(kind === "packed" ? [tensor("embed.weight", "U8", [rows, recordBytes], records)] : [
      tensor("embed.weight", dtype[kind], [rows, headDim], codes),
      ...(kind === "fp8" ? [tensor("embed.scale", "F8_E8M0", [rows, groups], scales)] : []),
      ...(kind === "int8" ? [tensor("embed.scale", "F32", [rows, groups], scales)] : []),
    ]),
    tensor(
      "wkv.weight",
      weights.scales ? "F8_E4M3" : "BF16",
      [outFeatures, inFeatures],
      weights.codes,
    ),
    ...(weights.scales
      ? [tensor(
        "wkv.scale",
        "F8_E8M0",
        [Math.ceil(outFeatures / block[0]), Math.ceil(inFeatures / block[1])],
        weights.scales,
      )]
      : []),
    tensor("q_weight", "BF16", [copies, hidden], gate.q),
    tensor("k_weight", "BF16", [copies, hidden], gate.k),
  ];
}

const products = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;

function decodedRow(
  { kind, headDim, codeBytes, scaleBytes }: RowEncoding,
  codes: Uint8Array,
  scales: Uint8Array,
  row: number,
): number[] {
  const code = new DataView(codes.buffer, row * codeBytes, codeBytes);
  const scale = new DataView(scales.buffer, row * scaleBytes, scaleBytes);
  return Array.from({ length: headDim }, (_, i) => {
    const group = Math.floor(i / 32);
    switch (kind) {
      case "fp8":
        return products[scale.getUint8(group) * 256 + code.getUint8(i)];
      case "int8":
        return nearestBf16(Math.fround(code.getInt8(i) * scale.getFloat32(4 * group, true)));
      case "bf16":
        return code.getUint16(2 * i, true);
      case "f16":
        return nearestBf16(code.getFloat16(2 * i, true));
      case "f32":
        return nearestBf16(code.getFloat32(4 * i, true));
    }
  });
}
