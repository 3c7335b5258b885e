import source from "../../shaders/restride.wgsl" with { type: "text" };
import { type Dispatch, gridOf } from "./kernel.ts";

/** Values from one row to the next: in the input and in the output. */
export interface Strides {
  /** In the input. */
  readonly from: number;
  /** In the output; what it has room for beyond the input's rows is zeros. */
  readonly to: number;
}

/** Copies `rows` rows of bf16 values to where the next kernel wants them. */
export function restride(
  rows: number,
  { from, to }: Strides,
  input: GPUBuffer,
  out: GPUBuffer,
): Dispatch {
  return {
    kernel: { name: "restride", source },
    uniforms: [rows * to, from, to, Math.min(from, to)],
    buffers: [input, out],
    grid: gridOf(Math.ceil(rows * to / 512)),
  };
}
