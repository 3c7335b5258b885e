/** The bytes of a safetensors file: `header` as it stands (text or bytes), then `data`. */
export function rawFile(
  header: string | Uint8Array,
  data: number | Uint8Array = 0,
  length?: bigint,
): Uint8Array<ArrayBuffer> {
  const json = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const tail = typeof data === "number" ? new Uint8Array(data) : data;
  const file = new Uint8Array(8 + json.length + tail.length);
  new DataView(file.buffer).setBigUint64(0, length ?? BigInt(json.length), true);
  file.set(json, 8);
  file.set(tail, 8 + json.length);
  return file;
}

/** One header entry as JSON text. */
export function entry(dtype: string, shape: number[], begin: number, end: number): string {
  return JSON.stringify({ dtype, shape, data_offsets: [begin, end] });
}
