const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** The bits of `value` as bf16, rounded to nearest even from its float32 form; NaN gives 0x7fff. */
export function toBf16(value: number): number {
  FLOAT[0] = value;
  return roundBits(BITS[0]);
}

/** The number whose bf16 bits are `bits`; exact. */
export function fromBf16(bits: number): number {
  BITS[0] = bits << 16;
  return FLOAT[0];
}

/** bf16 bits as float32 values, into `out` where given; exact. */
export function widenBf16(bits: Uint16Array, out?: Float32Array): Float32Array {
  const values = out ?? new Float32Array(bits.length);
  const words = new Uint32Array(values.buffer, values.byteOffset, bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i] << 16;
  return values;
}

/** float32 values rounded to nearest even bf16 bits, into `out` where given. */
export function narrowToBf16(values: Float32Array, out?: Uint16Array): Uint16Array {
  const bits = out ?? new Uint16Array(values.length);
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < words.length; i++) bits[i] = roundBits(words[i]);
  return bits;
}

/** A float32's bits rounded to its upper half. A carry out of the mantissa ends in the exponent, as it must. */
function roundBits(word: number): number {
  if ((word & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return ((word + 0x7fff + ((word >>> 16) & 1)) >>> 16) & 0xffff;
}
