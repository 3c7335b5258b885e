/** A tensor read by nothing of the project: header by JSON.parse, bytes by slicing. */
export interface RawTensor {
  readonly dtype: string;
  readonly shape: number[];
  readonly bytes: Uint8Array;
}

/** Every tensor of a small safetensors file, and its metadata. */
export function rawTensors(path: string): {
  tensors: Record<string, RawTensor>;
  metadata: Record<string, string>;
} {
  const file = Deno.readFileSync(path);
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  const { __metadata__: metadata = {}, ...entries } = header;
  const data = file.subarray(8 + length);
  const tensors = Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => {
      const { dtype, shape, data_offsets: [begin, end] } = entry as {
        dtype: string;
        shape: number[];
        data_offsets: [number, number];
      };
      return [name, { dtype, shape, bytes: data.subarray(begin, end) }];
    }),
  );
  return { tensors, metadata };
}
