import { createHash } from "node:crypto";
import { breathe } from "../bytes/breathe.ts";
import { type ByteSource, isSyncSource } from "../bytes/byte_source.ts";

/** Bytes hashed at a time. */
const CHUNK_BYTES = 2 ** 20;

/** SHA-256 of the whole of `source`, in hexadecimal. */
export async function sha256Of(
  source: ByteSource,
  onBytes: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, source.size));
  for (let at = 0; at < source.size; at += buffer.length) {
    await breathe(signal);
    const chunk = buffer.subarray(0, Math.min(buffer.length, source.size - at));
    if (isSyncSource(source)) source.readSync(chunk, at);
    else await source.read(chunk, at);
    hash.update(chunk);
    onBytes(chunk.length);
  }
  source.checkUnchanged();
  return hash.digest("hex");
}
