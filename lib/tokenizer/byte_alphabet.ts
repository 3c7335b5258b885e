/** The character byte-level tokenizers write for each byte: printable Latin-1 itself, else from U+0100 on. */
const byteOfChar: ReadonlyMap<string, number> = (() => {
  const chars = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    chars.set(String.fromCharCode(printable ? byte : next++), byte);
  }
  return chars;
})();

/** The bytes a byte-level token stands for; null when it holds a character that stands for none. */
export function bytesOfToken(token: string): Uint8Array | null {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = byteOfChar.get(token[i]);
    if (byte === undefined) return null;
    bytes[i] = byte;
  }
  return bytes;
}
