import type { Layout } from "../layout/layout.ts";
import hash from "../../shaders/hash.wgsl" with { type: "text" };
import hashWide from "../../shaders/hash_wide.wgsl" with { type: "text" };
import lookback from "../../shaders/lookback.wgsl" with { type: "text" };
import type { GpuBatch } from "./gpu_batch.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { type Dispatch, gridOf, type Kernel } from "./kernel.ts";

/** Primes the two-step remainder is right for. */
const WIDE_PRIMES = [2 ** 23, 2 ** 24] as const;
/** Bytes of rolling products a workgroup may keep: every device has as much. */
const ROLLING_BYTES = 16384;
/** How far below the true reciprocal the kernels' must be, so that no quotient comes out too large. */
const WIDE_MARGIN = 1 - 2 ** -21.5;
const MARGIN = 1 - 2 ** -20;

/** The hash kernel of one layout, with its constants on the GPU. */
export class HashIds {
  /** Whether it is the kernel for primes of 24 bits and heads in fours. */
  readonly wide: boolean;
  readonly #layout: Layout;
  readonly #kernel: Kernel;
  readonly #threads: number;
  readonly #multipliers: GPUBuffer;
  readonly #columns: GPUBuffer;

  private constructor(layout: Layout, plan: Plan, multipliers: GPUBuffer, columns: GPUBuffer) {
    this.wide = plan.wide;
    this.#layout = layout;
    this.#threads = plan.threads;
    this.#kernel = {
      name: plan.wide ? "hash_wide" : "hash",
      source: `${lookback}\n${plan.wide ? hashWide : hash}`,
      constants: {
        LAYERS: layout.layers.length,
        LOOKBACKS: layout.maxNgramSize,
        HEADS: layout.nHeads,
        THREADS: plan.threads,
      },
    };
    this.#multipliers = multipliers;
    this.#columns = columns;
  }

  /** Puts the constants of `layout` on the GPU. `general` takes the kernel for any primes. */
  static async create(gpu: GpuDevice, layout: Layout, general = false): Promise<HashIds> {
    const plan = planOf(layout, general);
    return new HashIds(
      layout,
      plan,
      await gpu.upload(multiplierWords(layout), "multipliers"),
      await gpu.upload(plan.wide ? wideColumns(layout) : columnWords(layout), "hash columns"),
    );
  }

  /** Bytes of row numbers a token gets. */
  get bytesPerToken(): number {
    return 4 * this.#layout.layers.length * this.#layout.columns;
  }

  /** Hashes tokens [first, first + count) of `batch` into `out`, Int32 [count, layers, columns]. */
  dispatch(batch: GpuBatch, padId: number, out: GPUBuffer, first: number, count: number): Dispatch {
    return {
      kernel: this.#kernel,
      uniforms: [
        first,
        count,
        batch.requests,
        batch.windowDepth,
        padId,
        batch.blockSize,
        batch.blocks,
      ],
      buffers: [
        batch.ids,
        batch.starts,
        batch.window,
        batch.slots,
        batch.blockTable,
        this.#multipliers,
        this.#columns,
        out,
      ],
      grid: gridOf(Math.ceil(count / this.#threads), this.#layout.layers.length),
    };
  }

  /** Frees the constants. */
  destroy(): void {
    this.#multipliers.destroy();
    this.#columns.destroy();
  }
}

interface Plan {
  readonly wide: boolean;
  readonly threads: number;
}

function planOf(layout: Layout, general: boolean): Plan {
  const products = layout.maxNgramSize - 1;
  const most = Math.floor(ROLLING_BYTES / 8 / products);
  const primes = layout.layers.flatMap((layer) => layer.primes.flat());
  const width = layout.columns / 4;
  const threads = wideThreads(width, Math.min(256, most));
  if (
    !general && threads !== undefined && layout.nHeads % 4 === 0 &&
    primes.every((prime) => prime >= WIDE_PRIMES[0] && prime < WIDE_PRIMES[1])
  ) return { wide: true, threads };
  return { wide: false, threads: Math.min(128, most) };
}

/** A multiple of `width` between 64 and `most`, of whole 32s where there is one. */
function wideThreads(width: number, most: number): number | undefined {
  let found: number | undefined;
  for (let threads = width; threads <= most && width >= 1; threads += width) {
    if (threads < 64) continue;
    if (threads % 32 === 0) return threads;
    found ??= threads;
  }
  return found;
}

function multiplierWords(layout: Layout): Uint32Array {
  return new Uint32Array(
    new BigUint64Array(
      layout.layers.flatMap((layer) => layer.multipliers.slice(0, layout.maxNgramSize)),
    ).buffer,
  );
}

/** prime, reciprocal, offset, 0 of each column. */
function columnWords(layout: Layout): Uint32Array {
  return Uint32Array.from(
    layout.layers.flatMap(({ primes, offsets }) =>
      primes.flat().flatMap((
        prime,
        column,
      ) => [prime, floatBits(MARGIN / prime), offsets[column], 0])
    ),
  );
}

/** For each four columns: primes, reciprocals, offsets. */
function wideColumns(layout: Layout): Uint32Array {
  return Uint32Array.from(
    layout.layers.flatMap(({ primes, offsets }) => {
      const flat = primes.flat();
      return Array.from({ length: flat.length / 4 }, (_, i) => {
        const four = flat.slice(4 * i, 4 * i + 4);
        return [
          ...four,
          ...four.map((prime) => floatBits(2 ** 12 / prime * WIDE_MARGIN)),
          ...offsets.slice(4 * i, 4 * i + 4),
        ];
      }).flat();
    }),
  );
}

function floatBits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}
