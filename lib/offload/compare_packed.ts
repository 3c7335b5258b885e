import { Buffer } from "node:buffer";
import { openFile } from "../bytes/file_source.ts";
import { EngramError } from "../errors.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";
import { packedRows } from "./packed_rows.ts";
import type { OffloadPlanLayer } from "./plan_offload.ts";

/** How {@linkcode comparePacked} reads. */
export interface CompareOptions {
  /** Ends the comparison with an `EngramError` of kind `interrupted`. */
  signal?: AbortSignal;
  /** Called with the number of bytes after each piece. */
  onBytes?: (bytes: number) => void;
}

/** Compares a layer's packed file with what its plan would write; what is wrong in a sentence, or null. */
export async function comparePacked(
  path: string,
  plan: OffloadPlanLayer,
  { signal, onBytes }: CompareOptions = {},
): Promise<string | null> {
  const { layer, ranges, tensor: { name, dtype, shape } } = plan;
  let file: SafetensorsFile;
  try {
    file = await openSafetensors(openFile(path));
  } catch (error) {
    if (!(error instanceof EngramError) || error.kind !== "malformed") throw error;
    return error.message;
  }
  try {
    const found = file.tensors.get(name);
    const wanted = `${dtype} [${shape.join(", ")}]`;
    const have = found && `${found.dtype} [${found.shape.join(", ")}]`;
    if (!found || have !== wanted || file.tensors.size !== 1) {
      return `tensor ${JSON.stringify(name)} is ${have ?? "missing"}, wanted ${wanted} alone`;
    }
    const { recordBytes } = layer.encoding;
    let own = Buffer.alloc(0);
    let at = 0;
    for await (const piece of packedRows(layer, ranges, signal)) {
      if (own.length < piece.length) own = Buffer.allocUnsafe(piece.length);
      const ours = own.subarray(0, piece.length);
      await file.source.read(ours, found.offset + at);
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
