/** What is kept on the device for a thing of the caller's, oldest use first; freed past `most` things. */
export class Lru<K extends object, V extends { destroy(): void }> {
  readonly #most: number;
  readonly #kept = new Map<K, Promise<V>>();

  /** Keeps at most `most` values. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The value kept for `key`, made where there is none. */
  async get(key: K, make: () => Promise<V>): Promise<V> {
    const kept = this.#kept.get(key) ?? make();
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    try {
      const value = await kept;
      this.#trim();
      return value;
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  /** Frees everything. */
  clear(): void {
    for (const value of this.#kept.values()) value.then((made) => made.destroy(), () => {});
    this.#kept.clear();
  }

  #trim(): void {
    for (const [key, value] of this.#kept) {
      if (this.#kept.size <= this.#most) break;
      this.#kept.delete(key);
      value.then((made) => made.destroy(), () => {});
    }
  }
}
