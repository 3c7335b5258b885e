import { inOrder } from "../engram/in_order.ts";
import type { GpuDevice } from "./gpu_device.ts";

/** Some tokens of a batch. */
interface Piece {
  readonly first: number;
  readonly count: number;
}

/** Tokens of a piece, whose largest buffer takes `bytes` a token. */
export function pieceTokens({ pieceBytes }: Pick<GpuDevice, "pieceBytes">, bytes: number): number {
  return Math.max(1, Math.floor(pieceBytes / bytes));
}

/**
 * Runs `work` over pieces of `tokens` tokens, two at a time. `bytes` is what a token takes in the
 * largest buffer.
 */
export async function inPieces(
  gpu: Pick<GpuDevice, "pieceBytes">,
  tokens: number,
  bytes: number,
  work: (first: number, count: number) => Promise<void>,
): Promise<void> {
  const most = pieceTokens(gpu, bytes);
  if (tokens <= most) return tokens > 0 ? await work(0, tokens) : undefined;
  const pieces: Piece[] = [];
  for (let first = 0; first < tokens; first += most) {
    pieces.push({ first, count: Math.min(most, tokens - first) });
  }
  for await (const _ of inOrder(pieces, ({ first, count }) => work(first, count)));
}
