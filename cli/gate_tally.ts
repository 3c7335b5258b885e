/** One token with its gates. */
export interface GatedToken {
  /** Number of the token, over all requests. */
  readonly token: number;
  readonly token_id: number;
  readonly dead: boolean;
  /** One gate for each copy. */
  readonly gates: readonly number[];
  /** Mean over the copies. */
  readonly mean: number;
}

/** Counts one layer's gates and keeps its first, strongest and weakest tokens, in constant memory. */
export class GateTally {
  readonly layerId: number;
  /** The first tokens, in order. */
  readonly first: GatedToken[] = [];
  /** Live tokens by falling and by rising mean gate; the earlier token first among equals. */
  readonly strongest: GatedToken[] = [];
  readonly weakest: GatedToken[] = [];
  /** Live tokens. */
  live = 0;
  /** Smallest and largest gate of live tokens. */
  min = Infinity;
  max = -Infinity;
  readonly #sums: Float64Array;
  readonly #kept: number;

  /** Keeps `kept` tokens of each ranking and of the start. */
  constructor(layerId: number, copies: number, kept: { ranked: number; first: number }) {
    this.layerId = layerId;
    this.#sums = new Float64Array(copies);
    this.#kept = kept.ranked;
    this.#firstKept = kept.first;
  }

  readonly #firstKept: number;

  /** Mean gate of each copy over live tokens. */
  get means(): number[] {
    return Array.from(this.#sums, (sum) => sum / this.live);
  }

  /** Adds the next token; `gates` are its [copies]. */
  add(token: number, tokenId: number, dead: boolean, gates: Float32Array): void {
    let sum = 0;
    if (!dead) {
      gates.forEach((gate, copy) => {
        sum += gate;
        this.#sums[copy] += gate;
        if (gate < this.min) this.min = gate;
        if (gate > this.max) this.max = gate;
      });
      this.live++;
    }
    const mean = sum / gates.length;
    const ranks = !dead &&
      (this.#ranks(this.strongest, mean, 1) || this.#ranks(this.weakest, mean, -1));
    if (!ranks && this.first.length >= this.#firstKept) return;
    const entry = { token, token_id: tokenId, dead, gates: Array.from(gates), mean };
    if (this.first.length < this.#firstKept) this.first.push(entry);
    if (dead) return;
    this.#insert(this.strongest, entry, 1);
    this.#insert(this.weakest, entry, -1);
  }

  #ranks(ranking: readonly GatedToken[], mean: number, sign: number): boolean {
    return ranking.length < this.#kept || sign * mean > sign * ranking[ranking.length - 1].mean;
  }

  #insert(ranking: GatedToken[], entry: GatedToken, sign: number): void {
    if (!this.#ranks(ranking, entry.mean, sign)) return;
    const at = ranking.findIndex(({ mean }) => sign * entry.mean > sign * mean);
    ranking.splice(at < 0 ? ranking.length : at, 0, entry);
    if (ranking.length > this.#kept) ranking.pop();
  }
}
