/** bf16 values of either sign between 1/16 and 1, evenly drawn in their logarithm. */
export function randomBf16(length: number): Uint16Array {
  const values = new Uint16Array(length);
  let state = (Math.random() * 2 ** 32) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = ((state >>> 31) << 15) | ((123 + ((state >>> 20) & 3)) << 7) |
      ((state >>> 8) & 127);
  }
  return values;
}

/** fp8 codes without NaN. */
export function randomFp8(length: number): Uint8Array {
  const codes = new Uint8Array(length);
  let state = (Math.random() * 2 ** 32) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const code = state >>> 24;
    codes[i] = (code & 0x7f) === 0x7f ? code & 0xbf : code;
  }
  return codes;
}
