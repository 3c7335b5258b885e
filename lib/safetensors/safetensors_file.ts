import type { ByteSource } from "../bytes/byte_source.ts";
import { EngramError } from "../errors.ts";
import { type Header, parseHeader } from "./header.ts";
import { otherFormat } from "./other_format.ts";
import { quote } from "./quote.ts";
import type { Tensor } from "./tensor.ts";

/** The longest header the reference library takes; a longer one would be an attack on memory. */
export const MOST_HEADER_BYTES = 100_000_000;

/** The header's length comes first, as a 64-bit integer. */
const LENGTH_BYTES = 8;

/** Enough of a file to tell what it is when it is no safetensors file. */
const HEAD_BYTES = 512;

/** An open safetensors file. Only its header has been read. */
export interface SafetensorsFile {
  /** What it reads from; closed by {@linkcode SafetensorsFile.close}. */
  readonly source: ByteSource;
  /** The `__metadata__` strings, in the header's order. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Tensors by name, in the order of their bytes. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** Bytes before the data: the length and the header. */
  readonly headerBytes: number;
  /** The tensor called `name`; one that is not there is an error. */
  tensor(name: string): Tensor;
  /** Closes the source. */
  close(): void;
}

/**
 * Reads and checks the header of `source`. On an error the source is closed; afterwards it belongs
 * to the file. A file of another kind (a web page, a Git LFS pointer, an archive) is named.
 */
export async function openSafetensors(source: ByteSource): Promise<SafetensorsFile> {
  try {
    const bytes = await readHeader(source);
    const headerBytes = LENGTH_BYTES + bytes.length;
    const header = parseHeader(bytes, source.size - headerBytes, source.name);
    const tensors = tensorsOf(header, headerBytes, source);
    return {
      source,
      metadata: header.metadata,
      tensors,
      headerBytes,
      tensor(name) {
        const tensor = tensors.get(name);
        if (tensor) return tensor;
        throw new EngramError(
          "malformed",
          `Cannot find tensor ${quote(name)} in \`${source.name}\`: ` +
            `found ${tensors.size} others`,
          { where: source.name },
        );
      },
      close: () => source.close(),
    };
  } catch (error) {
    source.close();
    throw error;
  }
}

async function readHeader(source: ByteSource): Promise<Uint8Array> {
  const head = new Uint8Array(Math.min(HEAD_BYTES, source.size));
  await source.read(head, 0);
  if (head.length < LENGTH_BYTES) {
    refuse(source, head, `${head.length} bytes, wanted ${LENGTH_BYTES} or more`);
  }
  const length = new DataView(head.buffer).getBigUint64(0, true);
  if (length > BigInt(MOST_HEADER_BYTES)) {
    refuse(source, head, `a header length of ${length}, wanted at most ${MOST_HEADER_BYTES}`);
  }
  const room = source.size - LENGTH_BYTES;
  if (length > BigInt(room)) {
    refuse(
      source,
      head,
      `a header length of ${length}, wanted at most the ${room} bytes there are`,
    );
  }
  const end = LENGTH_BYTES + Number(length);
  const start = head.subarray(LENGTH_BYTES, end).find((byte) => !WHITE_SPACE.includes(byte));
  if (start !== undefined && start !== OPEN_BRACE) {
    // A compressed file can have a length that would do; its content then has not.
    const other = otherFormat(head);
    if (other) refuse(source, head, other.found);
  }
  if (end <= head.length) return head.slice(LENGTH_BYTES, end);
  const bytes = new Uint8Array(Number(length));
  bytes.set(head.subarray(LENGTH_BYTES));
  const have = head.length - LENGTH_BYTES;
  await source.read(bytes.subarray(have), head.length);
  return bytes;
}

const WHITE_SPACE = [0x20, 0x0a, 0x0d, 0x09];
const OPEN_BRACE = 0x7b;

function refuse(source: ByteSource, head: Uint8Array, found: string): never {
  const other = otherFormat(head);
  throw new EngramError(
    "malformed",
    other
      ? `Cannot open \`${source.name}\`: found ${other.found}, wanted a safetensors file`
      : `Cannot open \`${source.name}\` as safetensors: found ${found}`,
    { where: source.name, ...(other ? { hint: other.hint } : {}) },
  );
}

function tensorsOf(
  header: Header,
  headerBytes: number,
  source: ByteSource,
): ReadonlyMap<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, { dtype, shape, begin, end }] of header.tensors) {
    const offset = headerBytes + begin;
    tensors.set(name, { name, dtype, shape, offset, byteLength: end - begin, source });
  }
  return tensors;
}
