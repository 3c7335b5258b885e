import relay from "../../shaders/relay.wgsl" with { type: "text" };
import type { RelayInput } from "../engram/kernels.ts";
import { type Dispatch, gridOf } from "./kernel.ts";

/** Re-lays `count` tokens from `first` on, of rows gathered over ranks, into `out`, [count, columns, headDim]. */
export function relayRows(
  sizes: Omit<RelayInput, "gathered" | "rank">,
  first: number,
  count: number,
  gathered: GPUBuffer,
  out: GPUBuffer,
): Dispatch {
  const row = sizes.columns * sizes.headDim;
  const words = Math.ceil(count * row / 2);
  return {
    kernel: { name: "relay", source: relay },
    uniforms: [words, count * row, first, sizes.tokens, row, sizes.localColumns * sizes.headDim],
    buffers: [gathered, out],
    grid: gridOf(Math.ceil(words / 256)),
  };
}
