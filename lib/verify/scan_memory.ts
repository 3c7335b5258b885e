import { openSimd, type SimdKernels } from "../simd/simd.ts";

/** The buffers of a scan: in the memory of the SIMD kernels, where there are any. */
export class ScanMemory {
  /** The kernels that read these buffers; null where JavaScript has to. */
  readonly simd: SimdKernels | null;
  /** Room for the strides of a block's codes. */
  readonly codes: Uint8Array<ArrayBuffer>;
  /** Room for those of its scales, where they lie apart. */
  readonly scales: Uint8Array<ArrayBuffer>;
  /** One flag a row. */
  readonly flags: Uint8Array<ArrayBuffer>;
  /** How often each byte value was met, in four tables to be added up [4, 256]. */
  readonly counts: Uint32Array<ArrayBuffer>;

  /** Makes room for blocks of `rows` rows, with strides of so many bytes of codes and scales. */
  constructor(rows: number, codeStride: number, scaleStride: number, useSimd = true) {
    const sizes = [4 * 4 * 256, rows * codeStride, rows * scaleStride, rows];
    const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const simd = useSimd ? openSimd(bytes) : null;
    const buffer = simd?.buffer ?? new ArrayBuffer(bytes);
    this.simd = simd?.kernels ?? null;
    this.counts = new Uint32Array(buffer, starts[0], 4 * 256);
    this.codes = new Uint8Array(buffer, starts[1], sizes[1]);
    this.scales = new Uint8Array(buffer, starts[2], sizes[2]);
    this.flags = new Uint8Array(buffer, starts[3], sizes[3]);
  }

  /** Counts the first `bytes` bytes of each of `rows` rows, `stride` apart, that begin at `at`. */
  countBytes(at: Uint8Array, rows: number, stride: number, bytes: number): void {
    if (this.simd) {
      this.simd.countBytes(at.byteOffset, rows, stride, bytes, this.counts.byteOffset);
      return;
    }
    for (let row = 0; row < rows; row++) {
      for (let i = row * stride; i < row * stride + bytes; i++) this.counts[at[i]]++;
    }
  }

  /** Adds what was counted to `histogram` [256], and forgets it. */
  flushCounts(histogram: number[]): void {
    const { counts } = this;
    for (let i = 0; i < 256; i++) {
      histogram[i] += counts[i] + counts[256 + i] + counts[512 + i] + counts[768 + i];
    }
    counts.fill(0);
  }
}
