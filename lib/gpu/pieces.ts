import { inOrder } from "../engram/in_order.ts";
import type { GpuDevice } from "./gpu_device.ts";

/** A result is made in pieces of about this many bytes a buffer: small enough for most devices. */
const PIECE_BYTES = 2 ** 26;

/** Some tokens of a batch. */
interface Piece {
  readonly first: number;
  readonly count: number;
}

/**
 * Runs `work` over pieces of `tokens` tokens, two at a time. `bytes` is what a token takes in the
 * largest buffer. Pieces begin at even tokens, so that no word of 16-bit values is in two of them.
 */
export async function inPieces(
  { limits }: Pick<GpuDevice, "limits">,
  tokens: number,
  bytes: number,
  work: (first: number, count: number) => Promise<void>,
): Promise<void> {
  const room = Math.min(PIECE_BYTES, limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  const most = Math.max(2, Math.floor(room / bytes / 2) * 2);
  if (tokens <= most) return tokens > 0 ? await work(0, tokens) : undefined;
  const pieces: Piece[] = [];
  for (let first = 0; first < tokens; first += most) {
    pieces.push({ first, count: Math.min(most, tokens - first) });
  }
  for await (const _ of inOrder(pieces, ({ first, count }) => work(first, count)));
}
