/** One measurement of a kernel. */
export interface Measured {
  /** What ran. */
  readonly name: string;
  /** The size of the work. */
  readonly size: string;
  /** Seconds of each run, by the GPU's timestamps unless the name says wall. */
  readonly seconds: readonly number[];
  /** Work done in a run, and its unit: bytes, tokens, rows, flop. */
  readonly counts?: { readonly amount: number; readonly unit: string };
  /** How the result was checked. */
  readonly checked?: string;
}

/** Where kernel benches put what they measured. */
export interface Report {
  add(measured: Measured): void;
}
