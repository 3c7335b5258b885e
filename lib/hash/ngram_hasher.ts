import { EngramError } from "../errors.ts";
import type { Layout } from "../layout/layout.ts";
import { checkBatch } from "./check_batch.ts";
import type { HashBatch } from "./hash_batch.ts";
import { LayerHash } from "./layer_hash.ts";
import { LookbackSources } from "./lookback_sources.ts";
import { DEAD, type SlotCache } from "./slot_cache.ts";

/**
 * Hashes tokens to table rows: for each token, layer and column, the row of the n-gram that ends
 * at the token.
 *
 * @example
 * ```ts
 * import { buildLayout } from "../layout/build_layout.ts";
 * import { NgramHasher } from "./ngram_hasher.ts";
 *
 * const layout = buildLayout({
 *   where: "example",
 *   layerIds: [1, 14],
 *   maxNgramSize: 4,
 *   nHeads: 8,
 *   vocabSize: 16_000_000,
 *   compressedVocabSize: 99092,
 * });
 * const rows = new NgramHasher(layout, 1).hash({
 *   ids: Int32Array.of(237, 5095, 251),
 *   positions: Int32Array.of(0, 1, 2),
 *   starts: Int32Array.of(0, 3),
 *   windowDepth: 0,
 * });
 * if (rows.length !== 3 * 2 * 24) throw new Error("[tokens, layers, columns]");
 * ```
 */
export class NgramHasher {
  /** The layout hashed by. */
  readonly layout: Layout;
  /** Compressed id of the padding token. */
  readonly padId: number;
  readonly #layers: readonly LayerHash[];

  /**
   * Prepares all layers of `layout`; `padId` is the *compressed* id of the padding token.
   *
   * @throws an {@linkcode EngramError} when `padId` is not below the compressed vocabulary, or a
   * layer's rows or products do not fit.
   */
  constructor(layout: Layout, padId: number) {
    if (!Number.isSafeInteger(padId) || padId < 0 || padId >= layout.compressedVocabSize) {
      throw new EngramError(
        "malformed",
        `Cannot hash: compressed pad id is ${padId}, ` +
          `wanted from 0, below the compressed vocabulary of ${layout.compressedVocabSize}`,
      );
    }
    this.layout = layout;
    this.padId = padId;
    this.#layers = layout.layers.map((layer) => new LayerHash(layer, layout));
  }

  /** Ids a token gets: layers * columns. */
  get idsPerToken(): number {
    return this.layout.layers.length * this.layout.columns;
  }

  /**
   * Rows of each token, int32 [tokens, layers, columns].
   *
   * With a cache, the batch's tokens are first written to their slots, and lookbacks before a chunk
   * that the window does not know are read from it. With a cache that is bound to no KV cache
   * nothing is hashed: the result is empty.
   *
   * @throws an {@linkcode EngramError} that names the array and index where the batch is wrong;
   * the cache is then as it was, unless a block table turned out not to hold a needed position.
   */
  hash(batch: HashBatch, cache?: SlotCache): Int32Array {
    if (cache && !cache.bound) return new Int32Array(0);
    checkBatch(batch, this.layout.compressedVocabSize, cache);
    if (cache) remember(batch, cache);
    const { ids, starts } = batch;
    const { columns, maxNgramSize } = this.layout;
    const out = new Int32Array(ids.length * this.idsPerToken);
    const lookbacks = new LookbackSources(batch, this.padId, cache);
    const sources = new Int32Array(maxNgramSize);
    let at = 0;
    for (let request = 0; request + 1 < starts.length; request++) {
      for (let token = starts[request]; token < starts[request + 1]; token++) {
        lookbacks.read(request, token, sources);
        for (const layer of this.#layers) {
          layer.hash(sources, out, at);
          at += columns;
        }
      }
    }
    return out;
  }
}

function remember({ ids, dead, slots }: HashBatch, cache: SlotCache): void {
  slots!.forEach((slot, token) => {
    if (slot >= 0) cache.slots[slot] = dead?.[token] ? DEAD : ids[token];
  });
}
