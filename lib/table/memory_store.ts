import { memorySource } from "../bytes/memory_source.ts";
import { EngramError } from "../errors.ts";
import { streamTensor } from "../safetensors/read_tensor.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { partStore } from "./part_store.ts";
import type { RowEncoding, RowStore } from "./row_store.ts";
import { type StoredLayer, tableParts } from "./table_parts.ts";

/** A table's bytes in host memory. */
export interface MemoryTable {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Codes [rows, codeBytes], or whole records [rows, recordBytes] where `scales` is absent. */
  readonly codes: Uint8Array;
  /** Scales [rows, scaleBytes]. */
  readonly scales?: Uint8Array;
}

/** Rows held in host memory. */
export function memoryStore({ encoding, codes, scales }: MemoryTable): RowStore {
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const bytes = scales ? codeBytes : recordBytes;
  const rows = codes.length / bytes;
  if (!Number.isInteger(rows)) {
    throw new EngramError(
      "malformed",
      `Cannot read rows in memory: ${codes.length} bytes are not whole rows of ${bytes}`,
    );
  }
  const parts = [{ source: memorySource(codes, "codes in memory"), offset: 0, bytes }];
  if (scales) {
    parts.push({ source: memorySource(scales, "scales in memory"), offset: 0, bytes: scaleBytes });
  }
  return partStore({
    encoding,
    rows,
    place: "host memory",
    parts,
  });
}

/** How a table is read into memory. */
export interface LoadTableOptions {
  /** Ends the reading with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal;
  /** Called with how many bytes more have been read. */
  readonly loaded?: (bytes: number) => void;
}

/**
 * Reads a layer's whole table into host memory.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where it does not fit.
 */
export async function loadTable(
  layer: StoredLayer,
  options: LoadTableOptions = {},
): Promise<RowStore> {
  // Checks that the bytes are rows of the encoding.
  tableParts(layer);
  const { weight, scale } = layer.embed!;
  const codes = await loaded(weight, options);
  const scales = scale && await loaded(scale, options);
  return memoryStore({ encoding: layer.encoding, codes, ...(scales && { scales }) });
}

async function loaded(
  tensor: Tensor,
  { signal, loaded }: LoadTableOptions,
): Promise<Uint8Array> {
  const bytes = room(tensor);
  let at = 0;
  for await (const chunk of streamTensor(tensor, { ...(signal && { signal }) })) {
    bytes.set(chunk, at);
    at += chunk.length;
    loaded?.(chunk.length);
  }
  return bytes;
}

function room({ name, byteLength, source }: Tensor): Uint8Array {
  try {
    return new Uint8Array(byteLength);
  } catch (cause) {
    throw new EngramError(
      "unavailable",
      `Cannot read ${name} into memory: there is no room for its ${byteLength} bytes`,
      { where: source.name, cause, hint: "Read its rows from the file as they are needed" },
    );
  }
}
