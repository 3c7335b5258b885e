import type { Tensor } from "../safetensors/tensor.ts";
import { type RowEncoding, rowEncoding, SCALE_GROUP } from "./row_encoding.ts";

/** How a layer's table is kept. */
export interface TableShape {
  /** How a row is decoded. */
  readonly encoding: RowEncoding;
  /** Rows of the tensor. */
  readonly rows: number;
  /** Whether `embed.weight` holds whole records, codes then scales, with no tensor of scales. */
  readonly packed: boolean;
}

/** Dtypes rows come in, and the encoding each means. */
const KINDS: Readonly<Record<string, RowEncoding["kind"]>> = {
  F8_E4M3: "fp8",
  U8: "fp8",
  I8: "int8",
  BF16: "bf16",
  F16: "f16",
  F32: "f32",
};

/**
 * How the table in `weight` and `scale` is kept, or a sentence that says why it cannot be one.
 *
 * @param headDim Values in a row as the config says; null to take it from the tensor.
 */
export function tableShape(
  weight: Tensor,
  scale: Tensor | null,
  headDim: number | null,
): TableShape | string {
  const { dtype, shape } = weight;
  if (shape.length !== 2) {
    return `${named(weight)}, wanted two dimensions: rows and values`;
  }
  const [rows, width] = shape;
  if (width === 0) return `${named(weight)}, wanted rows of at least one value`;
  const kind = KINDS[dtype];
  if (!kind) {
    return `${named(weight)}, wanted rows of F8_E4M3, I8, BF16, F16 or F32 or packed U8 records`;
  }
  if (!scale && (dtype === "U8" || dtype === "I8")) {
    const dim = headDim ?? unpackedDim(width);
    const record = dim === null ? null : rowEncoding("fp8", dim);
    if (record && record.recordBytes === width) return { encoding: record, rows, packed: true };
    if (dtype === "U8") {
      const wanted = record ? ` of ${record.recordBytes} bytes` : "";
      return `${named(weight)}, wanted packed records${wanted}, codes then scales`;
    }
  }
  if (headDim !== null && width !== headDim) {
    return `${named(weight)}, wanted ${headDim} values in a row (engram_head_dim)`;
  }
  const encoding = rowEncoding(kind, width);
  const fault = scaleFault(weight, scale, encoding);
  return fault ?? { encoding, rows, packed: false };
}

/** Width of a packed record to values in a row: one scale byte for 32 codes. */
function unpackedDim(width: number): number | null {
  const dim = width - Math.ceil(width / (SCALE_GROUP + 1));
  return dim > 0 && rowEncoding("fp8", dim).recordBytes === width ? dim : null;
}

function scaleFault(weight: Tensor, scale: Tensor | null, encoding: RowEncoding): string | null {
  const { kind, headDim } = encoding;
  if (encoding.scaleBytes === 0) {
    return scale ? `${named(scale)} beside ${weight.dtype} rows, which take no scales` : null;
  }
  const groups = Math.ceil(headDim / SCALE_GROUP);
  if (!scale) {
    return `no scales: ${weight.dtype} rows [${weight.shape.join(", ")}] need ` +
      `[${weight.shape[0]}, ${groups}] of them`;
  }
  const dtypes = kind === "int8" ? ["F32"] : ["F8_E8M0", "U8"];
  if (!dtypes.includes(scale.dtype)) {
    return `${named(scale)}, wanted ${dtypes.join(" or ")} scales for ${weight.dtype} rows`;
  }
  const [rows, width] = scale.shape;
  if (scale.shape.length !== 2 || rows !== weight.shape[0] || width !== groups) {
    return `${named(scale)}, wanted shape [${weight.shape[0]}, ${groups}]: ` +
      `one scale for ${SCALE_GROUP} values of a row`;
  }
  return null;
}

/** The usual name of the scales of the tensor called `weight`. */
export function scaleName(weight: string): string {
  return weight.endsWith("embed_tokens.weight")
    ? `${weight}_scale_inv`
    : weight.replace(/\.[^.]+$/, ".scale");
}

/** A tensor with its dtype and shape, for messages. */
export function named(tensor: Tensor): string {
  return `tensor ${JSON.stringify(tensor.name)} is ${tensor.dtype} [${tensor.shape.join(", ")}]`;
}
