import bf16 from "../../shaders/bf16.wgsl" with { type: "text" };
import dot16 from "../../shaders/dot16.wgsl" with { type: "text" };
import few from "../../shaders/project_few.wgsl" with { type: "text" };
import many from "../../shaders/project_many.wgsl" with { type: "text" };
import project from "../../shaders/project_one.wgsl" with { type: "text" };
import bf16Weights from "../../shaders/weights_bf16.wgsl" with { type: "text" };
import fp8Weights from "../../shaders/weights_fp8.wgsl" with { type: "text" };
import type { Bf16, ProjectionWeights } from "../engram/kernels.ts";
import { toBf16 } from "../table/bf16.ts";
import { fp8Value } from "../table/fp8.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { keepsSubnormals } from "./subnormals.ts";
import { type Dispatch, type Kernel } from "./kernel.ts";
import { unroll } from "./unroll.ts";

/** Inputs a kernel takes at once; rows of weights and of inputs are padded to whole ones. */
const VECTOR = 16;
/** Outputs of a token start at multiples of this many. */
const OUT_STEP = 8;
/** A block of the tiled kernel: outputs and tokens. */
const TILE = 128;
/** Tokens from which the tiled kernel is the faster one. */
const MANY_TOKENS = 81;

/** How the kernels for few tokens cut the work, by the tokens they serve: as was fastest on an H200. */
const ONE = { tokens: 1, rows: 2, warps: 8, steps: 3 } as const;
const FEW = [
  { tokens: 2, rows: 4, warps: 4 },
  { tokens: 4, rows: 4, warps: 4 },
  { tokens: 8, rows: 4, warps: 4 },
  { tokens: 16, rows: 4, warps: 4 },
] as const;
/** A software adapter takes seconds to compile what is written out for more tokens than this. */
const SOFTWARE_TOKENS = 4;
/** Inputs of the kernel for one token must fit workgroup memory beside its sums. */
const INPUT_BYTES = 2 ** 15 - 4096;

/** Outputs [first, first + features) of a weight: as many as one binding holds. */
interface Part {
  readonly first: number;
  readonly features: number;
  readonly codes: GPUBuffer;
  readonly scales: GPUBuffer;
}

/** One layer's `wkv` on the GPU. */
export class Projection {
  /** Values from one token's input to the next: inFeatures rounded up. */
  readonly inStride: number;
  /** Values from one token's output to the next: outFeatures rounded up. */
  readonly outStride: number;
  /** Whether weights are read as fp8. */
  readonly fp8: boolean;
  readonly #parts: readonly Part[];
  readonly #shapes: readonly (typeof FEW)[number][];
  readonly #prefix: string;
  readonly #constants: Readonly<Record<string, number>>;

  private constructor(
    { outFeatures, inFeatures, block }: ProjectionWeights,
    parts: readonly Part[],
    fp8: boolean,
    subnormals: boolean,
    software: boolean,
  ) {
    this.inStride = roundUp(inFeatures, VECTOR);
    this.outStride = roundUp(outFeatures, OUT_STEP);
    this.fp8 = fp8;
    this.#parts = parts;
    this.#shapes = FEW.filter((shape) => !software || shape.tokens <= SOFTWARE_TOKENS);
    this.#prefix = `${bf16}\n${fp8 ? fp8Weights : bf16Weights}`;
    this.#constants = {
      ROW_VECTORS: this.inStride / VECTOR,
      ...(fp8 && {
        KEEPS_SUBNORMALS: subnormals ? 1 : 0,
        BLOCK_ROWS: block[0],
        BLOCK_VECTORS: Math.max(1, Math.ceil(block[1] / VECTOR)),
        SCALE_COLUMNS: Math.ceil(inFeatures / block[1]),
      }),
    };
  }

  /** Puts `weights` on the GPU, as fp8 where the kernels can read them so, else as bf16. */
  static async create(gpu: GpuDevice, weights: ProjectionWeights): Promise<Projection> {
    const fp8 = isPlainFp8(weights);
    const { outFeatures, inFeatures, block } = weights;
    const given = fp8 ? weights.codes : weights.scales ? dequantized(weights) : weights.codes;
    const codes = padRows(given, outFeatures, inFeatures, VECTOR);
    const width = codes.length / outFeatures;
    const scaleColumns = fp8 ? Math.ceil(inFeatures / block[1]) : 0;
    // Parts start at whole blocks of scales and at whole words of output.
    const step = fp8 ? block[0] * OUT_STEP : OUT_STEP;
    const most = gpu.limits.maxStorageBufferBindingSize / (width * codes.BYTES_PER_ELEMENT);
    const features = Math.max(step, Math.floor(most / step) * step);
    const parts: Part[] = [];
    for (let first = 0; first < outFeatures; first += features) {
      const end = Math.min(outFeatures, first + features);
      const scales = fp8
        ? weights.scales!.subarray(
          first / block[0] * scaleColumns,
          Math.ceil(end / block[0]) * scaleColumns,
        )
        : new Uint8Array(4);
      parts.push({
        first,
        features: end - first,
        codes: await gpu.upload(codes.subarray(first * width, end * width), "wkv codes"),
        scales: await gpu.upload(scales, "wkv scales"),
      });
    }
    const subnormals = fp8 && await keepsSubnormals(gpu);
    return new Projection(weights, parts, fp8, subnormals, gpu.software);
  }

  /** bf16 [tokens, outStride] of bf16 rows [tokens, inStride]. */
  dispatches(rows: GPUBuffer, out: GPUBuffer, tokens: number): Dispatch[] {
    const { kernel, outputs, tokens: step } = this.#cut(tokens);
    return this.#parts.map((part) => ({
      kernel,
      uniforms: [tokens, part.features, part.first / 2, this.outStride / 2],
      buffers: [part.codes, part.scales, rows, out],
      grid: [Math.ceil(part.features / outputs), Math.ceil(tokens / step), 1],
    }));
  }

  /** The kernel for so many tokens, and the outputs and tokens a workgroup of it makes. */
  #cut(tokens: number): { kernel: Kernel; outputs: number; tokens: number } {
    if (tokens >= MANY_TOKENS) {
      const kernel = this.#kernel("project_many", unroll(many), {});
      return { kernel, outputs: TILE, tokens: TILE };
    }
    if (tokens === 1 && 2 * this.inStride <= INPUT_BYTES) {
      const sizes = {
        TOKENS: ONE.tokens,
        ROWS: ONE.rows,
        HALF_ROWS: ONE.rows / 2,
        STEPS: ONE.steps,
      };
      const kernel = this.#kernel("project_one", `${dot16}\n${unroll(project, sizes)}`, {
        WARPS: ONE.warps,
      });
      return { kernel, outputs: ONE.rows * ONE.warps, tokens: ONE.tokens };
    }
    const shape = this.#shapes.find((shape) => tokens <= shape.tokens) ?? this.#shapes.at(-1)!;
    const sizes = {
      TOKENS: shape.tokens,
      ROWS: shape.rows,
      HALF_ROWS: shape.rows / 2,
      SHARE: 2 * shape.tokens / shape.warps,
    };
    const kernel = this.#kernel("project_few", `${dot16}\n${unroll(few, sizes)}`, {
      WARPS: shape.warps,
    });
    return { kernel, outputs: shape.rows * shape.warps, tokens: shape.tokens };
  }

  #kernel(name: string, source: string, constants: Record<string, number>): Kernel {
    return {
      name,
      source: `${this.#prefix}\n${source}`,
      constants: { ...this.#constants, ...constants },
    };
  }

  /** Frees the weights. */
  destroy(): void {
    for (const { codes, scales } of this.#parts) {
      codes.destroy();
      scales.destroy();
    }
  }
}

/** Whether a sixteen of weights has one scale, and no weight or scale needs care. */
function isPlainFp8({ codes, scales, block, inFeatures }: ProjectionWeights): boolean {
  if (!scales || codes.BYTES_PER_ELEMENT !== 1) return false;
  if (block[1] % VECTOR !== 0 && block[1] < inFeatures) return false;
  // The kernels add 8 to a scale's exponent, and read a NaN code as a number.
  return scales.every((scale) => scale >= 1 && scale <= 246) && !hasNan(codes);
}

function hasNan(codes: ArrayLike<number>): boolean {
  for (let i = 0; i < codes.length; i++) if ((codes[i] & 0x7f) === 0x7f) return true;
  return false;
}

/** fp8 weights as bf16 bits: exact, but for the few whose scale takes them out of bf16's range. */
function dequantized(weights: ProjectionWeights): Bf16 {
  const { codes, scales, inFeatures, outFeatures, block: [blockRows, blockColumns] } = weights;
  const scaleColumns = Math.ceil(inFeatures / blockColumns);
  const values = Float64Array.from({ length: 256 }, (_, code) => fp8Value(code));
  const out = new Uint16Array(outFeatures * inFeatures);
  for (let n = 0, at = 0; n < outFeatures; n++) {
    const scaleRow = Math.floor(n / blockRows) * scaleColumns;
    for (let k = 0; k < inFeatures; k++, at++) {
      const scale = scales![scaleRow + Math.floor(k / blockColumns)];
      out[at] = toBf16(values[codes[at]] * 2 ** (scale - 127));
    }
  }
  return out;
}

/** Rows of `width` values padded with zeros to a multiple of `step`; the same array where none is needed. */
export function padRows<T extends Uint8Array | Uint16Array>(
  values: T,
  rows: number,
  width: number,
  step: number,
): T {
  const padded = roundUp(width, step);
  if (padded === width) return values;
  const out = new (values.constructor as new (n: number) => T)(rows * padded);
  for (let row = 0; row < rows; row++) {
    out.set(values.subarray(row * width, (row + 1) * width), row * padded);
  }
  return out;
}

/** The first `width` values of each row of `padded`; the same array where there is no padding. */
export function cutRows(values: Bf16, rows: number, padded: number, width: number): Bf16 {
  if (padded === width) return values;
  const out = new Uint16Array(rows * width);
  for (let row = 0; row < rows; row++) {
    out.set(values.subarray(row * padded, row * padded + width), row * width);
  }
  return out;
}

function roundUp(n: number, step: number): number {
  return Math.ceil(n / step) * step;
}
