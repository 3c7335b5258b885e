import { Buffer } from "node:buffer";
import { type CompareOptions, openCompared, tensorFault } from "../shards/open_compared.ts";
import { packedRows } from "./packed_rows.ts";
import type { OffloadPlanLayer } from "./plan_offload.ts";

/** Compares a layer's packed file with what its plan would write; what is wrong in a sentence, or null. */
export async function comparePacked(
  path: string,
  plan: OffloadPlanLayer,
  { signal, onBytes }: CompareOptions = {},
): Promise<string | null> {
  const { layer, ranges, tensor } = plan;
  const file = await openCompared(path);
  if (typeof file === "string") return file;
  try {
    const fault = tensorFault(file, tensor);
    if (fault !== null) return fault;
    const other = file.tensors.keys().find((name) => name !== tensor.name);
    if (other !== undefined) return `tensor ${JSON.stringify(other)} is no packed rows`;
    const { offset } = file.tensor(tensor.name);
    const { recordBytes } = layer.encoding;
    let own = Buffer.alloc(0);
    let at = 0;
    for await (const piece of packedRows(layer, ranges, signal)) {
      if (own.length < piece.length) own = Buffer.allocUnsafe(piece.length);
      const ours = own.subarray(0, piece.length);
      await file.source.read(ours, offset + at);
      if (!ours.equals(piece)) {
        const byte = at + ours.findIndex((value, i) => value !== piece[i]);
        return `row ${Math.floor(byte / recordBytes)} of it is not the checkpoint's`;
      }
      at += piece.length;
      onBytes?.(piece.length);
    }
    file.source.checkUnchanged();
    return null;
  } finally {
    file.close();
  }
}
