import type { ByteSource } from "../bytes/byte_source.ts";
import { EngramError } from "../errors.ts";

/** What a .npy file says of its array, and where the values begin. */
export interface NpyHeader {
  /** NumPy's type string, such as `<i4`. */
  readonly descr: string;
  /** Whether the first index runs fastest. */
  readonly fortranOrder: boolean;
  /** Sizes of the dimensions; empty for a scalar. */
  readonly shape: readonly number[];
  /** First byte of the values. */
  readonly offset: number;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

/** NumPy writes some hundred bytes; only structured types come near this. */
const MAX_HEADER_BYTES = 1 << 20;

/** Whether a file that begins with `head` (6 bytes or more) is a .npy file. */
export function isNpy(head: Uint8Array): boolean {
  return MAGIC.every((byte, i) => head[i] === byte);
}

/**
 * Reads the header of a .npy file, versions 1 to 3.
 *
 * @throws an {@linkcode EngramError} when it is not one, or its values do not fill the file.
 */
export async function readNpyHeader(source: ByteSource): Promise<NpyHeader> {
  const refuse = (found: string, wanted: string): never => {
    throw new EngramError(
      "malformed",
      `Cannot read \`${source.name}\` as .npy: found ${found}, wanted ${wanted}`,
      { where: source.name },
    );
  };
  if (source.size < 12) refuse(`${source.size} bytes`, "a header");
  const start = new Uint8Array(12);
  await source.read(start, 0);
  if (!isNpy(start)) refuse("other first bytes", "\\x93NUMPY");
  const version = start[6];
  if (version < 1 || version > 3) refuse(`version ${version}`, "1, 2 or 3");
  const view = new DataView(start.buffer);
  const [begin, length] = version === 1
    ? [10, view.getUint16(8, true)]
    : [12, view.getUint32(8, true)];
  const offset = begin + length;
  if (length > MAX_HEADER_BYTES || offset > source.size) {
    refuse(`a header of ${length} bytes`, `at most ${MAX_HEADER_BYTES}, within the file`);
  }
  const bytes = new Uint8Array(length);
  await source.read(bytes, begin);
  const text = new TextDecoder("latin1").decode(bytes);
  const descr = /'descr':\s*'([^']*)'/.exec(text)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(text)?.[1];
  const shape = /'shape':\s*\(((?:\d+(?:,\s*)?)*)\)/.exec(text)?.[1];
  if (descr === undefined || order === undefined || shape === undefined) {
    return refuse("a header of another form", "descr, fortran_order and shape of a plain array");
  }
  const sizes = shape.split(",").map((size) => size.trim()).filter((size) => size !== "").map(
    Number,
  );
  // Objects have no size of their own, and a text's number counts characters, not bytes.
  const itemBytes = /^[<>=|][biufcV](\d+)$/.exec(descr)?.[1];
  if (itemBytes === undefined) return refuse(`values of type ${descr}`, "numbers");
  const wanted = offset + sizes.reduce((product, size) => product * size, Number(itemBytes));
  if (wanted !== source.size) {
    refuse(`${source.size} bytes`, `${wanted} for ${descr} of shape [${sizes.join(", ")}]`);
  }
  return { descr, fortranOrder: order === "True", shape: sizes, offset };
}

/** The header of a .npy file (version 1.0) as NumPy writes it, padded to a multiple of 64 bytes. */
export function npyHeader(descr: string, shape: readonly number[]): Uint8Array {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const header = new Uint8Array(10 + length).fill(0x20);
  header.set([...MAGIC, 1, 0, length & 0xff, length >> 8]);
  header.set(new TextEncoder().encode(text), 10);
  header[header.length - 1] = 0x0a;
  return header;
}
