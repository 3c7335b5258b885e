/** Turns texts into token ids. */
export interface Encoder {
  /** Token ids of each text by itself. */
  encodeBatch(texts: readonly string[]): Promise<Int32Array[]>;
}
