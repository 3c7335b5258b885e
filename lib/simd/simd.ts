import { SIMD_WASM } from "./simd_wasm.ts";

/** The kernels; addresses are bytes in the memory they were opened with. See `assembly/`. */
export interface SimdKernels {
  /** fp8 records to bf16 bits: see `assembly/decode_fp8.ts`. */
  decodeFp8(records: number, rows: number, headDim: number, out: number): void;
  /** Flags of rows: see `assembly/scan_rows.ts`. */
  lookAtRows(
    at: number,
    rows: number,
    stride: number,
    bytes: number,
    exponent: number,
    one: number,
    carry: number,
    flags: number,
  ): number;
  /** Counts byte values into four tables of 256 u32: see `assembly/scan_rows.ts`. */
  countBytes(at: number, rows: number, stride: number, bytes: number, counts: number): void;
}

/** The kernels over a memory of their own, which its owner lays out as it likes. */
export interface Simd {
  /** The kernels. */
  readonly kernels: SimdKernels;
  /** The memory the kernels work on. */
  readonly buffer: ArrayBuffer;
}

/** Memory comes in pages of this many bytes. */
const PAGE_BYTES = 65_536;

/** Compiled at the first use; null where that cannot be done. */
let compiled: WebAssembly.Module | null | undefined;

/**
 * The SIMD kernels with at least `bytes` bytes of memory; null where the engine has no WebAssembly
 * SIMD, and the same has to be done in JavaScript.
 */
export function openSimd(bytes: number): Simd | null {
  compiled = compiled === undefined ? compile() : compiled;
  if (!compiled) return null;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) });
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
  return { kernels: exports as unknown as SimdKernels, buffer: memory.buffer as ArrayBuffer };
}

function compile(): WebAssembly.Module | null {
  try {
    return new WebAssembly.Module(Uint8Array.from(atob(SIMD_WASM), (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}
