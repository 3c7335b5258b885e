/** One compute kernel, as data: WGSL and the constants that specialise it. */
export interface Kernel {
  /** For messages and labels. */
  readonly name: string;
  /** WGSL with one entry point, `main`. */
  readonly source: string;
  /** Values of the source's `override` declarations. */
  readonly constants?: Readonly<Record<string, number>>;
}

/** A buffer bound to a kernel, whole or in part (bytes). */
export interface BufferRange {
  /** The buffer. */
  readonly buffer: GPUBuffer;
  /** First byte. */
  readonly offset?: number;
  /** Bytes. */
  readonly size?: number;
}

/** One run of a kernel, as data. */
export interface Dispatch {
  /** What runs. */
  readonly kernel: Kernel;
  /** Values of the uniform at binding 0: 32-bit integers. */
  readonly uniforms: readonly number[];
  /** Storage buffers at bindings 1, 2, … */
  readonly buffers: readonly (GPUBuffer | BufferRange)[];
  /** Workgroups; kernels take the second dimension as rows of the first. */
  readonly grid: readonly [x: number, y: number, z: number];
}

/** Most workgroups in a dimension that every WebGPU device takes. */
export const MOST_WORKGROUPS = 65535;

/**
 * A grid of at least `workgroups` workgroups, spread over two dimensions where one is too few.
 * Kernels number them `x + y * num_workgroups.x` and leave what is past the end alone.
 */
export function gridOf(workgroups: number, z = 1): [number, number, number] {
  const y = Math.max(1, Math.ceil(workgroups / MOST_WORKGROUPS));
  return [Math.ceil(workgroups / y), y, z];
}
