/**
 * Bits of one element of each dtype of the safetensors format (F4 and F6 are packed by bits).
 * The order is the reference library's: by alignment, and what its writer sorts tensors by, last first.
 */
export const DTYPE_BITS = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const;

/** A dtype name as the safetensors format spells it. */
export type Dtype = keyof typeof DTYPE_BITS;

/** All dtypes, in the order of {@linkcode DTYPE_BITS}. */
export const DTYPES: readonly Dtype[] = Object.keys(DTYPE_BITS) as Dtype[];

/** Whether `name` is a dtype of the format. */
export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DTYPE_BITS, name);
}
