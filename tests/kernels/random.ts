/** A small deterministic generator (mulberry32), so that a failing case can be run again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 32 random bits. */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** An integer in [0, end). */
  below(end: number): number {
    return Math.floor(this.bits() / 2 ** 32 * end);
  }

  /** About a standard normal. */
  normal(): number {
    const u = (this.bits() + 1) / 2 ** 32;
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.bits() / 2 ** 32);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.bits() & 255);
  }
}
