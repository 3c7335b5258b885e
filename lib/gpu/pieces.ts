import { inOrder } from "../engram/in_order.ts";
import type { GpuDevice } from "./gpu_device.ts";

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
  { pieceBytes }: Pick<GpuDevice, "pieceBytes">,
  tokens: number,
  bytes: number,
  work: (first: number, count: number) => Promise<void>,
): Promise<void> {
  const most = Math.max(2, Math.floor(pieceBytes / bytes / 2) * 2);
  if (tokens <= most) return tokens > 0 ? await work(0, tokens) : undefined;
  const pieces: Piece[] = [];
  for (let first = 0; first < tokens; first += most) {
    pieces.push({ first, count: Math.min(most, tokens - first) });
  }
  for await (const _ of inOrder(pieces, ({ first, count }) => work(first, count)));
}
