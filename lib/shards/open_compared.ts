import { openFile } from "../bytes/file_source.ts";
import { EngramError } from "../errors.ts";
import type { TensorSpec } from "../safetensors/plan_file.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";

/** How a file is compared with what it should be. */
export interface CompareOptions {
  /** Ends the comparison with an `EngramError` of kind `interrupted`. */
  signal?: AbortSignal;
  /** Called with the number of bytes compared after each piece. */
  onBytes?: (bytes: number) => void;
}

/**
 * Opens a file that is to be compared. One that is no safetensors file at all is a finding of the
 * comparison, not a failure of it: what is wrong with it is then given instead.
 */
export async function openCompared(path: string): Promise<SafetensorsFile | string> {
  try {
    return await openSafetensors(openFile(path));
  } catch (error) {
    if (error instanceof EngramError && error.kind === "malformed") return error.message;
    throw error;
  }
}

/** How the tensor of `wanted`'s name differs from it in dtype or shape; null where it does not. */
export function tensorFault(file: SafetensorsFile, wanted: TensorSpec): string | null {
  const found = file.tensors.get(wanted.name);
  const have = found && typeOf(found);
  if (have === typeOf(wanted)) return null;
  const name = JSON.stringify(wanted.name);
  return have ? `tensor ${name} is ${have}, wanted ${typeOf(wanted)}` : `tensor ${name} is missing`;
}

function typeOf({ dtype, shape }: Pick<TensorSpec, "dtype" | "shape">): string {
  return `${dtype} [${shape.join(", ")}]`;
}
