/** Element types that can hold token ids or flags, by their names in safetensors and in .npy. */
const READERS = {
  U8: Uint8Array,
  BOOL: Uint8Array,
  I8: Int8Array,
  U16: Uint16Array,
  I16: Int16Array,
  U32: Uint32Array,
  I32: Int32Array,
  U64: BigUint64Array,
  I64: BigInt64Array,
  F32: Float32Array,
  F64: Float64Array,
} as const satisfies Record<NumberDtype, unknown>;

/** A dtype {@linkcode numbersOf} reads. */
export type NumberDtype =
  | "U8"
  | "BOOL"
  | "I8"
  | "U16"
  | "I16"
  | "U32"
  | "I32"
  | "U64"
  | "I64"
  | "F32"
  | "F64";

/** NumPy's type strings of the same. */
const NPY: Readonly<Record<string, NumberDtype>> = {
  "|u1": "U8",
  "|b1": "BOOL",
  "|i1": "I8",
  "<u2": "U16",
  "<i2": "I16",
  "<u4": "U32",
  "<i4": "I32",
  "<u8": "U64",
  "<i8": "I64",
  "<f4": "F32",
  "<f8": "F64",
};

/** The dtype NumPy's `descr` names, of either byte order, where its values can be read. */
export function npyDtype(descr: string): NumberDtype | undefined {
  const little = descr.replace(/^[>=]/, "<").replace(/^<(?=[uib]1$)/, "|");
  return Object.hasOwn(NPY, little) ? NPY[little] : undefined;
}

/** Turns big-endian values of `width` bytes round, in place, where `descr` says that they are. */
export function toLittleEndian(descr: string, bytes: Uint8Array, width: number): void {
  if (!descr.startsWith(">") || width === 1) return;
  for (let i = 0; i < bytes.length; i += width) bytes.subarray(i, i + width).reverse();
}

/** Whether values of `dtype` can be read as numbers. */
export function isNumberDtype(dtype: string): dtype is NumberDtype {
  return Object.hasOwn(READERS, dtype);
}

/** Bytes of one value. */
export function numberBytes(dtype: NumberDtype): number {
  return READERS[dtype].BYTES_PER_ELEMENT;
}

/** The values in little-endian `bytes`, which must begin at a multiple of 8 in their buffer. */
export function numbersOf(
  dtype: NumberDtype,
  bytes: Uint8Array<ArrayBuffer>,
): ArrayLike<number | bigint> {
  const Reader = READERS[dtype];
  return new Reader(bytes.buffer, bytes.byteOffset, bytes.length / Reader.BYTES_PER_ELEMENT);
}
