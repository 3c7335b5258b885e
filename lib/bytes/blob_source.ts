import { EngramError } from "../errors.ts";
import type { ByteSource } from "./byte_source.ts";
import { checkRange } from "./check_range.ts";

/**
 * Reads a `Blob`, such as a `File` picked in a browser, by position. Only the ranges asked for are
 * read, so the file may be larger than memory. One that changed since it was picked is an error.
 *
 * @example
 * ```ts
 * import { blobSource } from "./blob_source.ts";
 *
 * const source = blobSource(new Blob([new Uint8Array([1, 2, 3])]), "three.bin");
 * const two = new Uint8Array(2);
 * await source.read(two, 1); // 2, 3
 * ```
 */
export function blobSource(blob: Blob, name: string): ByteSource {
  let closed = false;
  return {
    name,
    size: blob.size,
    async read(into, offset) {
      if (closed) throw new EngramError("usage", `Cannot read \`${name}\`: it is closed`);
      checkRange(name, blob.size, offset, into.length);
      into.set(new Uint8Array(await bytesOf(blob.slice(offset, offset + into.length), name)));
    },
    // A changed file already fails to be read.
    checkUnchanged: () => {},
    close: () => {
      closed = true;
    },
  };
}

async function bytesOf(part: Blob, name: string): Promise<ArrayBuffer> {
  try {
    return await part.arrayBuffer();
  } catch (cause) {
    throw new EngramError(
      "unavailable",
      `Cannot read \`${name}\`: ${(cause as Error).message || (cause as Error).name}`,
      { where: name, hint: "The file was changed or moved since it was picked: pick it again" },
    );
  }
}
