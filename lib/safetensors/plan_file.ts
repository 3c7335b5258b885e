import { EngramError } from "../errors.ts";
import { type Dtype, DTYPES } from "./dtype.ts";
import { quote, quoteShape } from "./quote.ts";
import { MOST_HEADER_BYTES } from "./safetensors_file.ts";
import { tensorBytes } from "./tensor_bytes.ts";

/** A tensor to be written: what its header entry says. */
export interface TensorSpec {
  /** The tensor's name; any text but `__metadata__`. */
  readonly name: string;
  /** Element type. */
  readonly dtype: Dtype;
  /** Sizes of the dimensions; empty for a scalar. */
  readonly shape: readonly number[];
}

/** The `__metadata__` of a file to be written. */
export type Metadata = ReadonlyMap<string, string> | Readonly<Record<string, string>>;

/** Where everything goes in a file to be written. */
export interface FilePlan {
  /** Length, JSON and padding: the file's first bytes. */
  readonly header: Uint8Array;
  /** First byte of each tensor in the file and its length, in the order of the file. */
  readonly spans: ReadonlyMap<string, { readonly offset: number; readonly byteLength: number }>;
  /** Bytes of the whole file. */
  readonly size: number;
}

/**
 * Lays out a file as the reference library does: dtypes of the widest alignment first, then by
 * name (by code points); the header padded with spaces to a multiple of 8. The same tensors in any
 * order give the same bytes; metadata keeps the order given.
 */
export function planFile(specs: readonly TensorSpec[], metadata: Metadata = {}): FilePlan {
  const rank = (spec: TensorSpec) => DTYPES.indexOf(spec.dtype);
  const sorted = [...specs].sort((a, b) => rank(b) - rank(a) || byCodePoints(a.name, b.name));
  const spans = new Map<string, { offset: number; byteLength: number }>();
  const members: string[] = [];
  const pairs = metadata instanceof Map ? [...metadata] : Object.entries(metadata);
  if (pairs.length > 0) {
    const texts = pairs.map(([key, value]) => `${json(key)}:${json(value)}`);
    members.push(`"__metadata__":{${texts.join(",")}}`);
  }
  let at = 0;
  for (const spec of sorted) {
    if (spans.has(spec.name)) refuse(spec, "a second tensor of that name", "one");
    if (spec.name === "__metadata__") refuse(spec, "the name kept for metadata", "another");
    const byteLength = lengthOf(spec);
    spans.set(spec.name, { offset: at, byteLength });
    const shape = spec.shape.join(",");
    const end = at + byteLength;
    members.push(
      `${
        json(spec.name)
      }:{"dtype":"${spec.dtype}","shape":[${shape}],"data_offsets":[${at},${end}]}`,
    );
    at = end;
  }
  const header = headerOf(`{${members.join(",")}}`);
  for (const span of spans.values()) span.offset += header.length;
  return { header, spans, size: header.length + at };
}

function headerOf(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const length = Math.ceil(bytes.length / 8) * 8;
  if (length > MOST_HEADER_BYTES) {
    throw new EngramError(
      "usage",
      `Cannot write a header of ${length} bytes, wanted at most ${MOST_HEADER_BYTES}`,
    );
  }
  const header = new Uint8Array(8 + length).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(bytes, 8);
  return header;
}

function lengthOf(spec: TensorSpec): number {
  const whole = spec.shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  const length = whole ? tensorBytes(spec.dtype, spec.shape) : "overflow";
  if (typeof length === "number") return length;
  return refuse(spec, quoteShape(spec.dtype, spec.shape), "a shape of whole bytes below 2^53");
}

/** UTF-8's order, which is that of code points; UTF-16 puts surrogates before U+E000 … U+FFFF. */
function byCodePoints(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i), y = b.charCodeAt(i);
    if (x === y) continue;
    const surrogates = Number(isSurrogate(x)) - Number(isSurrogate(y));
    return surrogates || x - y;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function json(text: string): string {
  if (text.isWellFormed()) return JSON.stringify(text);
  throw new EngramError(
    "usage",
    `Cannot write ${quote(text)}: found half of a surrogate pair, wanted well-formed text`,
  );
}

function refuse(spec: TensorSpec, found: string, wanted: string): never {
  throw new EngramError(
    "usage",
    `Cannot write tensor ${quote(spec.name)}: found ${found}, wanted ${wanted}`,
    { where: spec.name },
  );
}
