import { breathe } from "../bytes/breathe.ts";
import { type EngramLayer, tableOf } from "../checkpoint/checkpoint.ts";

/** Rows packed at once: some megabytes. */
const ROWS = 16_384;

/** The part of a layer that packing reads. */
export type PackedSource = Pick<EngramLayer, "layerId" | "encoding" | "rows" | "embed">;

/**
 * Rows [start, end) of each range as whole records, codes then scales, in order, in constant
 * memory. All pieces share one buffer: a piece is valid until the next is asked for.
 */
export async function* packedRows(
  layer: PackedSource,
  ranges: readonly (readonly [start: number, end: number])[],
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { weight, scale } = tableOf(layer);
  const { recordBytes } = layer.encoding;
  const parts = [weight, ...(scale ? [scale] : [])].map((tensor) => {
    const bytes = layer.rows === 0 ? 0 : tensor.byteLength / layer.rows;
    return { tensor, bytes, buffer: new Uint8Array(ROWS * bytes) };
  });
  const records = new Uint8Array(ROWS * recordBytes);
  for (const [start, end] of ranges) {
    for (let first = start; first < end; first += ROWS) {
      await breathe(signal);
      const rows = Math.min(ROWS, end - first);
      let at = 0;
      for (const { tensor, bytes, buffer } of parts) {
        const own = buffer.subarray(0, rows * bytes);
        await tensor.source.read(own, tensor.offset + first * bytes);
        for (let row = 0; row < rows; row++) {
          records.set(own.subarray(row * bytes, (row + 1) * bytes), row * recordBytes + at);
        }
        at += bytes;
      }
      yield records.subarray(0, rows * recordBytes);
    }
  }
  for (const { tensor } of parts) tensor.source.checkUnchanged();
}
