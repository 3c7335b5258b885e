import type { HashBatch } from "../hash/hash_batch.ts";
import { DEAD } from "../hash/slot_cache.ts";
import type { BufferLease } from "./buffer_lease.ts";

/** What the kernels read in a window for a token nobody knows: anything below DEAD. */
const UNKNOWN = -2;
const MOST_POSITION = 2 ** 32 - 1;

/** A slot cache's ids on the GPU. */
export interface GpuSlots {
  /** One int32 a slot. */
  readonly buffer: GPUBuffer;
  /** Slots in a block. */
  readonly blockSize: number;
}

/** A batch of requests on the GPU, as the hash kernels read it. */
export interface GpuBatch {
  /** T. */
  readonly tokens: number;
  /** R. */
  readonly requests: number;
  /** W; 0 without a window. */
  readonly windowDepth: number;
  /** Slots in a cache block; 0 without a slot cache. */
  readonly blockSize: number;
  /** Cache blocks of each request. */
  readonly blocks: number;
  /**
   * Int32 ids, DEAD where a token takes no part, each with its uint32 position [T, 2]: saturated, as
   * only the cache's block table needs more than the first few.
   */
  readonly ids: GPUBuffer;
  /** Uint32 [R + 1]. */
  readonly starts: GPUBuffer;
  /** Int32 [R, W]. */
  readonly window: GPUBuffer;
  /** Int32, the slot cache. */
  readonly slots: GPUBuffer;
  /** Uint32 [R, blocks]. */
  readonly blockTable: GPUBuffer;
}

/** Puts a checked batch in buffers of the GPU; `slots` is the slot cache it reads from, if any. */
export async function uploadBatch(
  buffers: Pick<BufferLease, "upload">,
  batch: HashBatch,
  slots?: GpuSlots,
): Promise<GpuBatch> {
  const requests = batch.starts.length - 1;
  const ids = mark(batch.ids, batch.dead);
  const tokens = new Uint32Array(2 * ids.length);
  for (let i = 0; i < ids.length; i++) {
    tokens[2 * i] = ids[i];
    tokens[2 * i + 1] = Math.min(batch.positions[i], MOST_POSITION);
  }
  const blockTable = await buffers.upload(batch.blockTable ?? new Int32Array(1), "block table");
  return {
    tokens: batch.ids.length,
    requests,
    windowDepth: batch.window ? batch.windowDepth : 0,
    blockSize: slots ? slots.blockSize : 0,
    blocks: slots && requests > 0 ? batch.blockTable!.length / requests : 0,
    ids: await buffers.upload(tokens, "token ids"),
    starts: await buffers.upload(batch.starts, "request starts"),
    window: await buffers.upload(windowIds(batch), "window"),
    slots: slots ? slots.buffer : blockTable,
    blockTable,
  };
}

/** Ids with DEAD in the place of dead tokens. */
export function mark(ids: Int32Array, dead?: Uint8Array): Int32Array {
  return dead ? ids.map((id, i) => (dead[i] ? DEAD : id)) : ids;
}

function windowIds({ window, windowDead }: HashBatch): Int32Array {
  if (!window) return new Int32Array(1);
  return window.map((id, i) => (windowDead?.[i] ? DEAD : id < 0 ? UNKNOWN : id));
}
