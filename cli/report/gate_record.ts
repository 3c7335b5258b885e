import { EngramError } from "../../lib/errors.ts";
import type { SpooledTokens } from "../token_spool.ts";

/** More would make a page that no browser opens in comfort. */
export const MOST_PAGE_TOKENS = 500_000;

/** What a page needs of one batch: gates F32 [tokens, copies] and rows I32 [tokens, columns]. */
export interface RecordedLayer {
  readonly gate: Float32Array;
  readonly ids?: Int32Array;
}

/** Gathers an evaluation in memory: everything a page shows, [tokens] first. */
export class GateRecord {
  /** Tokens so far. */
  tokens = 0;
  /** Layers' ids. */
  readonly layerIds: readonly number[];
  /** Copies of the stream. */
  readonly copies: number;
  /** Columns of a layer. */
  readonly columns: number;
  readonly #ids: Int32Array[] = [];
  readonly #flags: Uint8Array[] = [];
  readonly #gates: Uint16Array[] = [];
  readonly #rows: Int32Array[] = [];

  constructor(layerIds: readonly number[], copies: number, columns: number) {
    this.layerIds = layerIds;
    this.copies = copies;
    this.columns = columns;
  }

  /** Takes the next batch, one result for each layer. */
  add({ tokenIds, dead, starts }: SpooledTokens, results: readonly RecordedLayer[]): void {
    const tokens = tokenIds.length;
    this.tokens += tokens;
    if (this.tokens > MOST_PAGE_TOKENS) {
      throw new EngramError(
        "usage",
        `Cannot make a page of more than ${MOST_PAGE_TOKENS} tokens: found ${this.tokens} or more`,
        { where: "--html", hint: "Give a shorter text, or write the gates with --out" },
      );
    }
    const flags = Uint8Array.from(dead);
    for (const start of starts) if (start < tokens) flags[start] |= 2;
    this.#ids.push(Int32Array.from(tokenIds));
    this.#flags.push(flags);
    const layers = results.length;
    const gates = results.map(({ gate }) => quantize(gate));
    const rows = results.map(({ ids }) => ids!);
    this.#gates.push(
      interleave(gates, this.copies, new Uint16Array(tokens * layers * this.copies)),
    );
    this.#rows.push(interleave(rows, this.columns, new Int32Array(tokens * layers * this.columns)));
  }

  /** Token ids [tokens]. */
  ids(): Int32Array<ArrayBuffer> {
    return joined(this.#ids, new Int32Array(this.tokens));
  }

  /** Bit 0: dead; bit 1: begins a request [tokens]. */
  flags(): Uint8Array<ArrayBuffer> {
    return joined(this.#flags, new Uint8Array(this.tokens));
  }

  /** Gates times 65535 [tokens, layers, copies]. */
  gates(): Uint16Array<ArrayBuffer> {
    const width = this.layerIds.length * this.copies;
    return joined(this.#gates, new Uint16Array(this.tokens * width));
  }

  /** Rows [tokens, layers, columns]. */
  rows(): Int32Array<ArrayBuffer> {
    const width = this.layerIds.length * this.columns;
    return joined(this.#rows, new Int32Array(this.tokens * width));
  }
}

/** Puts [layers][tokens, width] into `out` as [tokens, layers, width]. */
function interleave<T extends Int32Array | Uint16Array>(
  layers: readonly T[],
  width: number,
  out: T,
): T {
  const tokens = out.length / layers.length / width;
  layers.forEach((values, layer) => {
    for (let token = 0; token < tokens; token++) {
      const part = values.subarray(token * width, (token + 1) * width);
      out.set(part, (token * layers.length + layer) * width);
    }
  });
  return out;
}

function quantize(gates: Float32Array): Uint16Array {
  return Uint16Array.from(gates, (gate) => Math.round(gate * 65535));
}

function joined<T extends Int32Array | Uint16Array | Uint8Array>(
  parts: readonly ArrayLike<number>[],
  whole: T,
): T {
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
