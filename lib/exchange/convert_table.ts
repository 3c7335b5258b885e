import { breathe } from "../bytes/breathe.ts";
import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";
import { rowEncoding } from "../checkpoint/row_encoding.ts";
import type { LayerRowLayout } from "../layout/layout.ts";
import { packedRows } from "../offload/packed_rows.ts";
import type { TensorSpec } from "../safetensors/plan_file.ts";
import { ConversionErrors } from "./conversion_errors.ts";
import { encodeRows } from "./encode_rows.ts";
import { floatRows } from "./float_rows.ts";

/** What a table can be converted to; `packed` is fp8 in records of codes and scales. */
export const TARGETS = ["int8", "bf16", "packed"] as const;

/** One of {@linkcode TARGETS}. */
export type Target = (typeof TARGETS)[number];

/** A converted piece of a table, valid until the next is asked for. */
export interface ConvertedPiece {
  /** Its rows. */
  readonly rows: number;
  /** The next bytes of each of the table's tensors. */
  readonly parts: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

/** llama.cpp-family files call records of the released size by this name. */
const RELEASED_RECORD = 264;

/** A layer's table as it will be written, and the work that makes it. */
export interface TableConversion {
  /** Its tensors. */
  readonly tensors: readonly TensorSpec[];
  /** Errors so far; whole when all pieces were taken. */
  readonly errors: ConversionErrors;
  /** Reads, converts and compares all rows, padding rows too, in constant memory. */
  pieces(signal?: AbortSignal): AsyncGenerator<ConvertedPiece>;
}

/** Plans the conversion of a layer's table; each value is rounded once, to nearest even. */
export function convertTable(
  layer: EngramLayer,
  layout: LayerRowLayout,
  target: Target,
): TableConversion {
  tableOf(layer);
  const { rows, encoding: from, layerId } = layer;
  const { headDim } = from;
  const to = rowEncoding(target === "packed" ? "fp8" : target, headDim);
  const errors = new ConversionErrors(layout, headDim);
  const prefix = `layers.${layerId}.engram.embed`;
  const name = target === "packed" && to.recordBytes === RELEASED_RECORD
    ? `${prefix}.e4m3_e8m0_32_row264`
    : `${prefix}.weight`;
  const tensors: TensorSpec[] = target === "packed"
    ? [{ name, dtype: "U8", shape: [rows, to.recordBytes] }]
    : target === "int8"
    ? [
      { name, dtype: "I8", shape: [rows, headDim] },
      { name: `${prefix}.scale`, dtype: "F32", shape: [rows, to.scaleBytes / 4] },
    ]
    : [{ name, dtype: "BF16", shape: [rows, headDim] }];
  return {
    tensors,
    errors,
    async *pieces(signal) {
      let row = 0;
      for await (const records of packedRows(layer, [[0, rows]], signal)) {
        await breathe();
        const source = floatRows(from, records);
        const count = source.length / headDim;
        if (target === "packed" && from.kind === "fp8") {
          // The codes and scales themselves: nothing is rounded, odd bytes stay as they are.
          errors.add(row, source, source);
          yield { rows: count, parts: [{ name, bytes: records }] };
        } else {
          const codes = new Uint8Array(count * to.codeBytes);
          const scales = new Uint8Array(count * to.scaleBytes);
          encodeRows(to, source, codes, scales);
          const made = join(codes, scales, to.codeBytes, to.scaleBytes);
          errors.add(row, source, floatRows(to, made));
          const parts = target === "packed"
            ? [{ name, bytes: made }]
            : [{ name, bytes: codes }, { name: `${prefix}.scale`, bytes: scales }];
          yield { rows: count, parts: target === "bf16" ? parts.slice(0, 1) : parts };
        }
        row += count;
      }
    },
  };
}

/** Codes and scales side by side, as records. */
function join(
  codes: Uint8Array,
  scales: Uint8Array,
  codeBytes: number,
  scaleBytes: number,
): Uint8Array {
  if (scaleBytes === 0) return codes;
  const records = new Uint8Array(codes.length + scales.length);
  for (let row = 0, at = 0; at < records.length; row++, at += codeBytes + scaleBytes) {
    records.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), at);
    records.set(scales.subarray(row * scaleBytes, (row + 1) * scaleBytes), at + codeBytes);
  }
  return records;
}
