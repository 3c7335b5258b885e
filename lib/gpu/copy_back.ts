import { bytesOf } from "../bytes/bytes_of.ts";
import type { Download } from "./gpu_device.ts";

/** What copies the values at the start of `buffer` to `count` values of `whole` from `first` on. */
export function copyBack(
  buffer: GPUBuffer,
  whole: Uint16Array | Float32Array | Int32Array,
  first: number,
  count: number,
): Download {
  const into = bytesOf(whole.subarray(first, first + count));
  return { buffer, size: into.length, into };
}
