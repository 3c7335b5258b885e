import { type Dtype, DTYPE_BITS } from "./dtype.ts";

/** The reference library counts in 64 bits, from the left: a zero late in a shape comes too late. */
const MOST = 2n ** 64n - 1n;

/**
 * Bytes of a tensor, or why there is no such tensor: a product past 64 bits, or elements of 4 or 6
 * bits that do not fill whole bytes. Exact for any shape.
 */
export function tensorBytes(
  dtype: Dtype,
  shape: readonly number[],
): number | "overflow" | "part of a byte" {
  let bits = 1;
  for (const factor of [...shape, DTYPE_BITS[dtype]]) {
    bits *= factor;
    if (bits > Number.MAX_SAFE_INTEGER) return exactTensorBytes(dtype, shape);
  }
  return bits % 8 === 0 ? bits / 8 : "part of a byte";
}

function exactTensorBytes(dtype: Dtype, shape: readonly number[]): ReturnType<typeof tensorBytes> {
  let bits = 1n;
  for (const factor of [...shape, DTYPE_BITS[dtype]]) {
    bits *= BigInt(factor);
    if (bits > MOST) return "overflow";
  }
  if (bits % 8n !== 0n) return "part of a byte";
  return bits / 8n > BigInt(Number.MAX_SAFE_INTEGER) ? "overflow" : Number(bits / 8n);
}
