/** Rows of a tile: pairs of neighbours for 32 threads. */
export const TILE_ROWS = 64;
/** Values of a row that a thread reads at a time. */
export const EIGHT = 8;

/**
 * Rows [first, end) of a matrix [rows, width] as the projection's kernel reads them: tile after tile,
 * [eight values, pair of rows, even and odd row] of fp8, or [eight values, even and odd row, pair of
 * rows] of bf16, so that 32 threads read 16 bytes each of one piece. Padded with zeros to whole tiles
 * and eights.
 *
 * Of two neighbouring fp8 codes in 16 bits the first has its sign at bit 15 and the rest at bits 7 to
 * 13, where a 16-bit float has them, and the second has its sign at bit 14 and the rest at bits 0 to 6.
 */
export function tileRows<T extends Uint8Array | Uint16Array>(
  values: T,
  width: number,
  padded: number,
  first: number,
  end: number,
): Uint32Array {
  // 32-bit words of eight values.
  const eight = EIGHT * values.BYTES_PER_ELEMENT / 4;
  const tiles = Math.ceil((end - first) / TILE_ROWS);
  const row = new (values.constructor as new (n: number) => T)(padded);
  const words = new Uint32Array(row.buffer);
  const out = new Uint32Array(tiles * TILE_ROWS * words.length);
  // From one pair to the next, and from an even row to the odd one beside it.
  const pairStep = 4;
  const oddStep = eight === 2 ? 2 : TILE_ROWS / 2 * 4;
  for (let n = first; n < end; n++) {
    row.set(values.subarray(n * width, (n + 1) * width));
    const inside = (n - first) % TILE_ROWS;
    let at = (n - first - inside) * words.length + Math.floor(inside / 2) * pairStep +
      inside % 2 * oddStep;
    for (let from = 0; from < words.length; from += eight) {
      for (let i = 0; i < eight; i++) {
        out[at + i] = eight === 2 ? spread(words[from + i]) : words[from + i];
      }
      at += TILE_ROWS * eight;
    }
  }
  return out;
}

/** Moves the bits of four fp8 codes to where they are soon made 16-bit floats. */
function spread(word: number): number {
  return ((word & 0x00800080) << 8) | ((word & 0x80008000) >>> 1) | ((word & 0x007f007f) << 7) |
    ((word >>> 8) & 0x007f007f);
}
