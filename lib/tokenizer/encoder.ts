import type { TokenizerSpec } from "./tokenizer.ts";

/** Turns texts into token ids. */
export interface Encoder {
  /** Token ids of each text by itself, without the special tokens around it. */
  encodeBatch(texts: readonly string[]): Promise<Int32Array[]>;
}

/** Opens the encoder of a tokenizer; `json` is the whole `tokenizer.json`, `spec` its outline. */
export type EncoderOpener = (json: string, spec: TokenizerSpec, name: string) => Promise<Encoder>;
