import { EngramError } from "../errors.ts";
import type { SyncByteSource } from "./byte_source.ts";
import { memoryWindows } from "./memory_windows.ts";
import { checkRange } from "./check_range.ts";

/**
 * Bytes that are already in memory, as a source. They are not copied.
 *
 * @example
 * ```ts
 * import { memorySource } from "./memory_source.ts";
 *
 * const source = memorySource(new Uint8Array([1, 2, 3]));
 * const two = new Uint8Array(2);
 * source.readSync(two, 1); // 2, 3
 * ```
 */
export function memorySource(bytes: Uint8Array, name = "(memory)"): SyncByteSource {
  let closed = false;
  const memory = memoryWindows([bytes], bytes.length);
  const readSync = (into: Uint8Array, offset: number): void => {
    if (closed) throw new EngramError("usage", `Cannot read \`${name}\`: it is closed`);
    checkRange(name, bytes.length, offset, into.length);
    into.set(bytes.subarray(offset, offset + into.length));
  };
  return {
    name,
    size: bytes.length,
    get memory() {
      if (closed) throw new EngramError("usage", `Cannot read \`${name}\`: it is closed`);
      return memory;
    },
    readSync,
    // deno-lint-ignore require-await -- a throw has to become a rejection
    read: async (into, offset) => readSync(into, offset),
    checkUnchanged: () => {},
    close: () => {
      closed = true;
    },
  };
}
