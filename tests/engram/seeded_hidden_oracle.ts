import { nearestBf16 } from "../kernels/bf16_oracle.ts";

/** The documented made-up stream, in BigInt: bf16 values [count] of a layer from flat element `first`. */
export function seededHidden(
  seed: number,
  layerId: number,
  first: number,
  count: number,
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const at = BigInt(first + i);
    let u = mix(BigInt(seed));
    u = mix(u ^ BigInt(layerId));
    u = mix(u ^ (at >> 32n));
    u = mix(u ^ (at & MASK));
    return nearestBf16(Number(u >> 8n) / 2 ** 23 - 1);
  });
}

const MASK = 0xffff_ffffn;

function mix(x: bigint): bigint {
  let h = x ^ (x >> 16n);
  h = (h * 0x85ebca6bn) & MASK;
  h ^= h >> 13n;
  h = (h * 0xc2b2ae35n) & MASK;
  return h ^ (h >> 16n);
}
