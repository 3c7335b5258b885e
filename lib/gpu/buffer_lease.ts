import type { BufferPool } from "./buffer_pool.ts";
import type { GpuDevice } from "./gpu_device.ts";

/**
 * Storage buffers used for a while: making one takes time on the host, and clearing it on the GPU.
 * Once disposed of they serve others, whose work comes behind all that was submitted. They may hold
 * anything.
 */
export class BufferLease implements Disposable {
  readonly #gpu: GpuDevice;
  readonly #pool: BufferPool;
  readonly #held: GPUBuffer[] = [];

  /** See {@linkcode GpuDevice.lease}. */
  constructor(gpu: GpuDevice, pool: BufferPool) {
    this.#gpu = gpu;
    this.#pool = pool;
  }

  /** A storage buffer of at least `size` bytes. */
  async buffer(size: number, label: string): Promise<GPUBuffer> {
    const buffer = this.#pool.take(size) ??
      await this.#gpu.buffer(this.#pool.room(size), label);
    this.#held.push(buffer);
    return buffer;
  }

  /** A storage buffer that begins with `data`. */
  async upload(data: ArrayBufferView, label: string): Promise<GPUBuffer> {
    const buffer = await this.buffer(data.byteLength, label);
    this.#gpu.write(buffer, 0, data);
    return buffer;
  }

  /** Gives the buffers back. */
  [Symbol.dispose](): void {
    for (const buffer of this.#held.splice(0)) this.#pool.give(buffer);
  }
}
