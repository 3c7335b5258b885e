import { breathe } from "../bytes/breathe.ts";
import { bytesOf } from "../bytes/bytes_of.ts";
import type { TensorSpec } from "./plan_file.ts";
import { SafetensorsWriter, type SafetensorsWriterOptions } from "./safetensors_writer.ts";

/** A tensor to be written with its bytes, or with what gives them in order. */
export interface TensorEntry extends TensorSpec {
  /** The bytes (little-endian), or a function that begins a stream of them. */
  readonly data: ArrayBufferView | (() => AsyncIterable<Uint8Array> | Iterable<Uint8Array>);
}

/** How {@linkcode writeSafetensors} writes. */
export interface WriteOptions extends SafetensorsWriterOptions {
  /** Ends the writing with an `EngramError` of kind `interrupted`; no file is left. */
  signal?: AbortSignal;
  /** Called with the number of bytes after each piece. */
  onBytes?: (bytes: number) => void;
}

/**
 * Writes a safetensors file as the reference library orders it, deterministically, and returns its
 * size in bytes. It appears under its name only when it is whole.
 *
 * @example
 * ```ts ignore
 * await writeSafetensors("ids.safetensors", [
 *   { name: "token_ids", dtype: "I32", shape: [3], data: new Int32Array([1, 2, 3]) },
 * ]);
 * ```
 */
export async function writeSafetensors(
  path: string,
  entries: readonly TensorEntry[],
  options: WriteOptions = {},
): Promise<number> {
  const { signal, onBytes } = options;
  using writer = SafetensorsWriter.create(path, entries, options);
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  for (const name of writer.names) {
    const { data } = byName.get(name) as TensorEntry;
    for await (const piece of typeof data === "function" ? data() : [bytesOf(data)]) {
      await breathe(signal);
      writer.append(name, piece);
      onBytes?.(piece.length);
    }
  }
  writer.commit();
  return writer.size;
}
