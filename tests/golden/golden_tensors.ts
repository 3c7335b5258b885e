import { goldenPath } from "./golden_data.ts";

/** A golden tensor's values, as the array type of its dtype. */
export interface GoldenTensor<T> {
  readonly shape: readonly number[];
  readonly values: T;
}

const ARRAYS = {
  U8: Uint8Array,
  F8_E4M3: Uint8Array,
  F8_E8M0: Uint8Array,
  BF16: Uint16Array,
  I32: Int32Array,
  F32: Float32Array,
  F64: Float64Array,
  I64: BigInt64Array,
} as const;

type Dtype = keyof typeof ARRAYS;

/** A safetensors file read by a few lines of the tests' own, so that it can judge the library's reader. */
export class TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  readonly #header: Record<string, { dtype: Dtype; shape: number[]; data_offsets: number[] }>;
  readonly #data: Uint8Array;

  constructor(path: string) {
    const bytes = Deno.readFileSync(path);
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const { __metadata__, ...header } = JSON.parse(
      new TextDecoder().decode(bytes.subarray(8, 8 + length)),
    );
    this.metadata = __metadata__ ?? {};
    this.#header = header;
    this.names = Object.keys(header);
    this.#data = bytes.subarray(8 + length);
  }

  /** The tensor `name`, which must be of `dtype`. */
  get<D extends Dtype>(name: string, dtype: D): GoldenTensor<InstanceType<(typeof ARRAYS)[D]>> {
    const found = this.#header[name];
    if (!found || found.dtype !== dtype) {
      throw new Error(`no ${dtype} tensor ${name}: found ${found ? found.dtype : "none"}`);
    }
    const bytes = this.#data.slice(found.data_offsets[0], found.data_offsets[1]);
    const values = new ARRAYS[dtype](bytes.buffer) as InstanceType<(typeof ARRAYS)[D]>;
    return { shape: found.shape, values };
  }

  has(name: string): boolean {
    return name in this.#header;
  }
}

/** A safetensors file of `tests/golden/data`. */
export function goldenTensors(name: string): TensorFile {
  return new TensorFile(goldenPath(name));
}
