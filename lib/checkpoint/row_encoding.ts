import { EngramError } from "../errors.ts";

/** How one row's bytes encode its values. A record is the row's codes followed by its scales. */
export interface RowEncoding {
  /** `fp8`: e4m3fn codes with ue8m0 scale bytes; `int8`: codes with F32 scales; else plain values. */
  readonly kind: "fp8" | "int8" | "bf16" | "f16" | "f32";
  /** Values in a row. */
  readonly headDim: number;
  /** Bytes of a row's codes. */
  readonly codeBytes: number;
  /** Bytes of a row's scales; 0 for plain rows. */
  readonly scaleBytes: number;
  /** codeBytes + scaleBytes. */
  readonly recordBytes: number;
}

/** Values of a row that share one scale, in every encoding with scales. */
export const SCALE_GROUP = 32;

const VALUE_BYTES = { fp8: 1, int8: 1, bf16: 2, f16: 2, f32: 4 } as const;
const SCALE_WIDTH = { fp8: 1, int8: 4, bf16: 0, f16: 0, f32: 0 } as const;

/** The encoding of rows of `headDim` values; a last group of fewer than 32 values has its own scale. */
export function rowEncoding(kind: RowEncoding["kind"], headDim: number): RowEncoding {
  if (!Number.isSafeInteger(headDim) || headDim < 1) {
    throw new EngramError(
      "usage",
      `Cannot describe a row: found head_dim ${headDim}, wanted a positive integer`,
    );
  }
  const codeBytes = headDim * VALUE_BYTES[kind];
  const scaleBytes = Math.ceil(headDim / SCALE_GROUP) * SCALE_WIDTH[kind];
  return { kind, headDim, codeBytes, scaleBytes, recordBytes: codeBytes + scaleBytes };
}
