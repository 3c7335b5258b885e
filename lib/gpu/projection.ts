import bf16 from "../../shaders/bf16.wgsl" with { type: "text" };
import few from "../../shaders/project_few.wgsl" with { type: "text" };
import many from "../../shaders/project_many.wgsl" with { type: "text" };
import sum from "../../shaders/project_sum.wgsl" with { type: "text" };
import bf16Weights from "../../shaders/weights_bf16.wgsl" with { type: "text" };
import fp8Weights from "../../shaders/weights_fp8.wgsl" with { type: "text" };
import type { Bf16, ProjectionWeights } from "../engram/kernels.ts";
import { toBf16 } from "../table/bf16.ts";
import { fp8Value } from "../table/fp8.ts";
import type { GpuDevice } from "./gpu_device.ts";
import type { Dispatch, Kernel } from "./kernel.ts";
import { keepsSubnormals } from "./subnormals.ts";
import { EIGHT, TILE_ROWS, tileRows } from "./tile_rows.ts";
import { unroll } from "./unroll.ts";

/** Rows of inputs are padded to whole ones of this many. */
const IN_STEP = 16;
/** Outputs of a token start at multiples of this many. */
const OUT_STEP = 8;

/** How the kernel for few tokens cuts the work, by the tokens it serves: as was fastest on an H200. */
interface Shape {
  readonly tokens: number;
  /** Pairs of outputs of a thread. */
  readonly tiles: number;
  /** Groups of 32 threads in a workgroup. */
  readonly warps: number;
  /** Workgroups that run at once: inputs are sliced until there are about as many. */
  readonly atOnce: number;
}

const FEW: readonly Shape[] = [
  { tokens: 1, tiles: 1, warps: 4, atOnce: 1056 },
  { tokens: 2, tiles: 2, warps: 4, atOnce: 528 },
  { tokens: 4, tiles: 4, warps: 4, atOnce: 264 },
  { tokens: 8, tiles: 4, warps: 4, atOnce: 264 },
  { tokens: 16, tiles: 2, warps: 8, atOnce: 132 },
];
/** Most slices of the inputs. */
const MOST_SLICES = 16;
/** Bytes of inputs in that kernel's workgroup memory, at most. */
const CHUNK_BYTES = 40 * 1024;
/** Threads of a workgroup of the kernel that adds up slices. */
const SUM_THREADS = 128;

/** A block of the kernel for many tokens: outputs and tokens. */
const BLOCK = 128;
/** Tokens from which it is the faster one. */
const MANY_TOKENS = 113;

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
  /** Sums of slices, of one part at a time. */
  readonly #sums: GPUBuffer;
  readonly #chunkBytes: number;
  readonly #prefix: string;
  readonly #constants: Readonly<Record<string, number>>;

  private constructor(
    { outFeatures, inFeatures, block }: ProjectionWeights,
    parts: readonly Part[],
    sums: GPUBuffer,
    fp8: boolean,
    subnormals: boolean,
    chunkBytes: number,
  ) {
    this.inStride = roundUp(inFeatures, IN_STEP);
    this.outStride = roundUp(outFeatures, OUT_STEP);
    this.fp8 = fp8;
    this.#parts = parts;
    this.#sums = sums;
    this.#chunkBytes = chunkBytes;
    this.#prefix = `${bf16}\n${fp8 ? fp8Weights : bf16Weights}`;
    this.#constants = {
      ROW_EIGHTS: this.inStride / EIGHT,
      ...(fp8 && {
        KEEPS_SUBNORMALS: subnormals ? 1 : 0,
        BLOCK_ROWS: block[0],
        BLOCK_EIGHTS: Math.ceil(block[1] / EIGHT),
        SCALE_COLUMNS: Math.ceil(inFeatures / block[1]),
      }),
    };
  }

  /** Puts `weights` on the GPU, as fp8 where the kernels can read them so, else as bf16. */
  static async create(gpu: GpuDevice, weights: ProjectionWeights): Promise<Projection> {
    const fp8 = isPlainFp8(weights);
    const { outFeatures, inFeatures, block } = weights;
    const codes = !fp8 && weights.scales ? dequantized(weights) : weights.codes;
    const inStride = roundUp(inFeatures, IN_STEP);
    const rowBytes = inStride * codes.BYTES_PER_ELEMENT;
    const scaleColumns = fp8 ? Math.ceil(inFeatures / block[1]) : 0;
    // Parts start at whole tiles and at whole blocks of scales.
    const step = fp8 ? TILE_ROWS * block[0] : TILE_ROWS;
    const most = gpu.limits.maxStorageBufferBindingSize / rowBytes;
    const partRows = Math.max(step, Math.floor(most / step) * step);
    const parts: Part[] = [];
    for (let first = 0; first < outFeatures; first += partRows) {
      const end = Math.min(outFeatures, first + partRows);
      const scales = fp8
        ? weights.scales!.subarray(
          first / block[0] * scaleColumns,
          Math.ceil(end / block[0]) * scaleColumns,
        )
        : new Uint8Array(4);
      const buffer = await gpu.buffer(roundUp(end - first, TILE_ROWS) * rowBytes, "wkv codes");
      const some = 16 * TILE_ROWS;
      for (let row = first; row < end; row += some) {
        const tiles = tileRows(codes, inFeatures, inStride, row, Math.min(end, row + some));
        gpu.write(buffer, (row - first) * rowBytes, tiles);
      }
      parts.push({
        first,
        features: end - first,
        codes: buffer,
        scales: await gpu.upload(scales, "wkv scales"),
      });
    }
    const subnormals = fp8 && await keepsSubnormals(gpu);
    const sumBytes = Math.max(
      ...parts.flatMap(({ features }) =>
        FEW.map((shape) =>
          4 * shape.tokens * slicesOf(shape, features, inStride).count * roundUp(features, 2)
        )
      ),
    );
    const sumBuffer = await gpu.buffer(sumBytes, "sums");
    const chunkBytes = Math.min(CHUNK_BYTES, gpu.limits.maxComputeWorkgroupStorageSize);
    return new Projection(weights, parts, sumBuffer, fp8, subnormals, chunkBytes);
  }

  /** bf16 [tokens, outStride] of bf16 rows [tokens, inStride]. */
  dispatches(rows: GPUBuffer, out: GPUBuffer, tokens: number): Dispatch[] {
    return this.#parts.flatMap((part) => {
      if (tokens >= MANY_TOKENS) return this.#many(part, rows, out, tokens);
      const shape = FEW.find((shape) => tokens <= shape.tokens) ?? FEW.at(-1)!;
      const dispatches: Dispatch[] = [];
      for (let token = 0; token < tokens; token += shape.tokens) {
        const end = Math.min(tokens, token + shape.tokens);
        dispatches.push(...this.#few(part, rows, out, shape, token, end));
      }
      return dispatches;
    });
  }

  /** Tokens [token, end): the sums over slices of the inputs, and then their sums. */
  #few(
    { first, features, codes, scales }: Part,
    rows: GPUBuffer,
    out: GPUBuffer,
    shape: Shape,
    token: number,
    end: number,
  ): Dispatch[] {
    const { outputs, slice, count } = slicesOf(shape, features, this.inStride);
    // Eights of each token's inputs that fit; an even number.
    const room = 2 * Math.floor(this.#chunkBytes / (8 * EIGHT * shape.tokens));
    const chunk = Math.min(slice, room);
    return [
      {
        kernel: this.#kernel("project_few", textOf(shape), { SLICE: slice, CHUNK: chunk }),
        uniforms: [token, end, features],
        buffers: [codes, scales, rows, this.#sums],
        grid: [Math.ceil(features / outputs), count, 1],
      },
      {
        kernel: { name: "project_sum", source: `${bf16}\n${unroll(sum, { SLICES: count })}` },
        uniforms: [token, end, features, first / 2, this.outStride / 2],
        buffers: [this.#sums, out],
        grid: [Math.ceil(features / 2 / SUM_THREADS), end - token, 1],
      },
    ];
  }

  #many(
    { first, features, codes, scales }: Part,
    rows: GPUBuffer,
    out: GPUBuffer,
    tokens: number,
  ): Dispatch {
    return {
      kernel: this.#kernel("project_many", unroll(many)),
      uniforms: [tokens, features, first / 2, this.outStride / 2],
      buffers: [codes, scales, rows, out],
      grid: [Math.ceil(features / BLOCK), Math.ceil(tokens / BLOCK), 1],
    };
  }

  #kernel(name: string, source: string, constants: Record<string, number> = {}): Kernel {
    return {
      name,
      source: `${this.#prefix}\n${source}`,
      constants: { ...this.#constants, ...constants },
    };
  }

  /** Frees the weights. */
  destroy(): void {
    this.#sums.destroy();
    for (const { codes, scales } of this.#parts) {
      codes.destroy();
      scales.destroy();
    }
  }
}

const texts = new Map<Shape, string>();

/** The text of the kernel for few tokens, written out once. */
function textOf(shape: Shape): string {
  let text = texts.get(shape);
  if (text === undefined) {
    const { tokens, tiles, warps } = shape;
    text = unroll(few, { TOKENS: tokens, TILES: tiles, WARPS: warps });
    texts.set(shape, text);
  }
  return text;
}

/** Outputs of a workgroup, and slices of the inputs: how many, and of how many eights. */
function slicesOf(
  { tiles, warps, atOnce }: Shape,
  features: number,
  inStride: number,
): { outputs: number; slice: number; count: number } {
  const outputs = TILE_ROWS * tiles * warps;
  const wanted = Math.floor(atOnce / Math.ceil(features / outputs));
  const slices = Math.max(1, Math.min(MOST_SLICES, wanted));
  const eights = inStride / EIGHT;
  // An even number: a thread takes two at a time.
  const slice = roundUp(Math.ceil(eights / slices), 2);
  return { outputs, slice, count: Math.ceil(eights / slice) };
}

/** Whether sixteen weights of two rows have one scale, and no weight or scale needs care. */
function isPlainFp8({ codes, scales, block, inFeatures, outFeatures }: ProjectionWeights): boolean {
  if (!scales || codes.BYTES_PER_ELEMENT !== 1) return false;
  if (block[1] % IN_STEP !== 0 && block[1] < inFeatures) return false;
  if (block[0] % 2 !== 0 && block[0] < outFeatures) return false;
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

function roundUp(n: number, step: number): number {
  return Math.ceil(n / step) * step;
}
