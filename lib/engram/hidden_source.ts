import type { Bf16 } from "./kernels.ts";

/** Where the residual stream that enters each layer comes from. */
export interface HiddenSource {
  /** For people and for the output's metadata. */
  readonly description: string;
  /** Tokens it holds; null where it has one for any token. */
  readonly tokens: number | null;
  /**
   * bf16 [tokens, copies, hidden] that enters `layerId`, of the tokens from `first` on.
   *
   * @throws an {@linkcode EngramError} where it holds none for that layer or those tokens.
   */
  read(layerId: number, first: number, tokens: number): Promise<Bf16>;
  /** Closes what it reads from; closing twice is fine. */
  close(): void;
}
