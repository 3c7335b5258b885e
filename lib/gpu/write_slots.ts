import slotWrite from "../../shaders/slot_write.wgsl" with { type: "text" };
import type { HashBatch } from "../hash/hash_batch.ts";
import type { GpuSlots } from "./gpu_batch.ts";
import { type Dispatch, gridOf } from "./kernel.ts";

/** Remembers `tokens` marked ids in their slots; `slotOf` is {@linkcode lastSlots}, both on the GPU. */
export function writeSlots(
  tokens: number,
  ids: GPUBuffer,
  slotOf: GPUBuffer,
  slots: GpuSlots,
): Dispatch {
  return {
    kernel: { name: "slot_write", source: slotWrite },
    uniforms: [tokens],
    buffers: [ids, slotOf, slots.buffer],
    grid: gridOf(Math.ceil(tokens / 256)),
  };
}

/** Slots of a batch's tokens, -1 where a later token takes the same slot: threads have no order. */
export function lastSlots({ slots }: HashBatch): Int32Array {
  const taken = new Set<number>();
  const last = slots!.slice();
  for (let token = last.length - 1; token >= 0; token--) {
    if (last[token] < 0) continue;
    if (taken.has(last[token])) last[token] = -1;
    else taken.add(last[token]);
  }
  return last;
}
