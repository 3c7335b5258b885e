import type { ByteSource } from "../bytes/byte_source.ts";
import type { Dtype } from "./dtype.ts";

/** One tensor of an open safetensors file: where its bytes lie. Nothing is read until asked for. */
export interface Tensor {
  /** The tensor's name in its file. */
  readonly name: string;
  /** Element type. */
  readonly dtype: Dtype;
  /** Sizes of the dimensions; empty for a scalar. */
  readonly shape: readonly number[];
  /** First byte in `source`, absolute. */
  readonly offset: number;
  /** Length in bytes. */
  readonly byteLength: number;
  /** The file the bytes lie in. */
  readonly source: ByteSource;
}
