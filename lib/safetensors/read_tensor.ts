import { breathe } from "../bytes/breathe.ts";
import { EngramError } from "../errors.ts";
import { quote } from "./quote.ts";
import type { Tensor } from "./tensor.ts";

/** Large enough that reads run at the disk's speed, small enough for any machine. */
const CHUNK_BYTES = 8 * 2 ** 20;

/** Which part of a tensor {@linkcode streamTensor} reads, and how. */
export interface StreamOptions {
  /** Bytes of a chunk; the last may be shorter. */
  chunkBytes?: number;
  /** First byte, counted from the tensor's start. */
  begin?: number;
  /** Byte after the last one, counted from the tensor's start. */
  end?: number;
  /**
   * Byte of a file that the stream's first byte goes to: all chunks but the first then begin at
   * multiples of `chunkBytes` there. 0 unless given.
   */
  target?: number;
  /** Ends the stream with an `EngramError` of kind `interrupted`. */
  signal?: AbortSignal;
}

/** The whole of a small tensor, in a buffer of its own (so that any typed array can lie over it). */
export async function readTensor(tensor: Tensor): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(tensor.byteLength);
  await tensor.source.read(bytes, tensor.offset);
  tensor.source.checkUnchanged();
  return bytes;
}

/**
 * A tensor's bytes in order, in constant memory. All chunks share one buffer: a chunk is valid
 * until the next is asked for. A file that was changed meanwhile ends the stream with an error.
 */
export async function* streamTensor(
  tensor: Tensor,
  options: StreamOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { chunkBytes = CHUNK_BYTES, target = 0, signal } = options;
  const { begin = 0, end = tensor.byteLength } = options;
  if (!(begin >= 0 && begin <= end && end <= tensor.byteLength)) {
    throw new EngramError(
      "usage",
      `Cannot read tensor ${quote(tensor.name)}: found bytes ${begin} to ${end}, ` +
        `wanted some of its ${tensor.byteLength}`,
      { where: tensor.name },
    );
  }
  const buffer = new Uint8Array(Math.min(chunkBytes, end - begin));
  for (let at = begin; at < end;) {
    await breathe(signal);
    const room = chunkBytes - (target + at - begin) % chunkBytes;
    const chunk = buffer.subarray(0, Math.min(room, end - at));
    await tensor.source.read(chunk, tensor.offset + at);
    yield chunk;
    at += chunk.length;
  }
  tensor.source.checkUnchanged();
}
