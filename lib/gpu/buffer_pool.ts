/** Buffers of one usage that wait to be used again, in sizes of powers of two. */
export class BufferPool {
  readonly #most: number;
  readonly #free: GPUBuffer[] = [];

  /** No power of two above `most` bytes: larger buffers are as large as they must be. */
  constructor(most: number = Number.MAX_SAFE_INTEGER) {
    this.#most = most;
  }

  /** The size that a buffer for `size` bytes is to be made with. */
  room(size: number): number {
    const room = Math.max(256, 2 ** Math.ceil(Math.log2(Math.max(1, size))));
    return room <= this.#most ? room : Math.ceil(size / 16) * 16;
  }

  /** A buffer for `size` bytes, if one is free; what it holds is whatever was left in it. */
  take(size: number): GPUBuffer | undefined {
    const room = this.room(size);
    const at = this.#free.findIndex((buffer) => buffer.size === room);
    return at < 0 ? undefined : this.#free.splice(at, 1)[0];
  }

  /** Lets others use `buffer`. */
  give(buffer: GPUBuffer): void {
    this.#free.push(buffer);
  }
}
