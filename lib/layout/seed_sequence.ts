const POOL_SIZE = 4;

/** numpy's hash over a running constant: each call uses the constant up and makes the next. */
class Mixer {
  #constant: number;
  readonly #step: number;

  constructor(constant: number, step: number) {
    this.#constant = constant;
    this.#step = step;
  }

  mix(word: number): number {
    const xored = word ^ this.#constant;
    this.#constant = Math.imul(this.#constant, this.#step);
    const product = Math.imul(xored, this.#constant);
    return (product ^ (product >>> 16)) >>> 0;
  }
}

function combine(x: number, y: number): number {
  const sum = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
  return (sum ^ (sum >>> 16)) >>> 0;
}

/** 32-bit words of a non-negative integer, least significant first; zero is one word. */
function wordsOf(entropy: bigint): number[] {
  const words: number[] = [];
  do {
    words.push(Number(entropy & 0xffffffffn));
    entropy >>= 32n;
  } while (entropy > 0n);
  return words;
}

/**
 * numpy's `SeedSequence(entropy).generate_state(count, uint64)`.
 * `entropy` is any non-negative integer.
 */
export function seedSequence(entropy: bigint, count: number): bigint[] {
  const words = wordsOf(entropy);
  const mixer = new Mixer(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: POOL_SIZE }, (_, i) => mixer.mix(words[i] ?? 0));
  for (let from = 0; from < POOL_SIZE; from++) {
    for (let to = 0; to < POOL_SIZE; to++) {
      if (from !== to) pool[to] = combine(pool[to], mixer.mix(pool[from]));
    }
  }
  for (const word of words.slice(POOL_SIZE)) {
    for (let to = 0; to < POOL_SIZE; to++) pool[to] = combine(pool[to], mixer.mix(word));
  }
  const output = new Mixer(0x8b51f9dd, 0x58f38ded);
  const halves = Array.from({ length: 2 * count }, (_, i) => output.mix(pool[i % POOL_SIZE]));
  return Array.from(
    { length: count },
    (_, i) => BigInt(halves[2 * i]) | (BigInt(halves[2 * i + 1]) << 32n),
  );
}
