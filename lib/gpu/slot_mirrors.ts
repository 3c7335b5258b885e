import { EngramError } from "../errors.ts";
import { checkBatch } from "../hash/check_batch.ts";
import type { HashBatch } from "../hash/hash_batch.ts";
import { LookbackSources } from "../hash/lookback_sources.ts";
import type { SlotCache } from "../hash/slot_cache.ts";
import type { Layout } from "../layout/layout.ts";
import { type GpuSlots, mark } from "./gpu_batch.ts";
import type { GpuDevice } from "./gpu_device.ts";
import { lastSlots, writeSlots } from "./write_slots.ts";

/** Slot caches on the GPU, each the mirror of one binding: a cache bound anew starts from its zeros. */
export class SlotMirrors {
  // The cache's array is replaced when it is bound to another KV cache, so the array is the key.
  readonly #mirrors = new WeakMap<Int32Array, Promise<GpuSlots>>();

  /** The mirror of `cache`; made, with what the cache holds by then, where there is none. */
  of(gpu: GpuDevice, cache: SlotCache): Promise<GpuSlots> {
    let mirror = this.#mirrors.get(cache.slots);
    if (!mirror) {
      mirror = gpu.upload(cache.slots, "slot cache").then((buffer) => ({
        buffer,
        blockSize: cache.blockSize,
      }));
      this.#mirrors.set(cache.slots, mirror);
    }
    return mirror;
  }

  /** Writes the ids of `batch` to the mirror and to `cache` itself. */
  async remember(gpu: GpuDevice, batch: HashBatch, cache: SlotCache): Promise<void> {
    const mirror = await this.of(gpu, cache);
    const last = lastSlots(batch);
    const marked = mark(batch.ids, batch.dead);
    last.forEach((slot, token) => {
      if (slot >= 0) cache.slots[slot] = marked[token];
    });
    const slotOf = await gpu.upload(last, "slots");
    const ids = await gpu.upload(marked, "token ids");
    await gpu.submit([writeSlots(batch.ids.length, ids, slotOf, mirror)]);
    for (const buffer of [slotOf, ids]) buffer.destroy();
  }
}

/**
 * Checks all that a kernel cannot: the batch itself and, with a cache, that the block table holds
 * every position a lookback needs.
 */
export function prepareCachedBatch(
  layout: Layout,
  padId: number,
  batch: HashBatch,
  cache?: SlotCache,
): void {
  if (!Number.isSafeInteger(padId) || padId < 0 || padId >= layout.compressedVocabSize) {
    throw new EngramError(
      "malformed",
      `Cannot hash: compressed pad id is ${padId}, ` +
        `wanted from 0, below the compressed vocabulary of ${layout.compressedVocabSize}`,
    );
  }
  checkBatch(batch, layout.compressedVocabSize, cache);
  if (!cache) return;
  const lookbacks = new LookbackSources(batch, padId, cache);
  const sources = new Int32Array(layout.maxNgramSize);
  const { starts } = batch;
  for (let request = 0; request + 1 < starts.length; request++) {
    // Only a chunk's first tokens look behind it.
    const end = Math.min(starts[request] + layout.maxNgramSize - 1, starts[request + 1]);
    for (let token = starts[request]; token < end; token++) lookbacks.read(request, token, sources);
  }
}
