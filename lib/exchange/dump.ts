import { isNpy, readNpyHeader } from "../arrays/npy_header.ts";
import {
  isNumberDtype,
  npyDtype,
  numberBytes,
  numbersOf,
  toLittleEndian,
} from "../arrays/numbers_of.ts";
import type { ByteSource } from "../bytes/byte_source.ts";
import { openLocation } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import { openSafetensors } from "../safetensors/safetensors_file.ts";
import { widenBf16 } from "../table/bf16.ts";
import { f16Value } from "../table/f16.ts";
import { jsonArrays } from "./dump_json.ts";

/** An array of a dump; its values are read in pieces, as doubles. */
export interface DumpArray {
  /** Its name; empty for the only array of a .npy file or of a JSON list. */
  readonly name: string;
  /** Element type, as its format calls it. */
  readonly dtype: string;
  /** Sizes of the dimensions. */
  readonly shape: readonly number[];
  /** Values [begin, begin + count) in flat order. */
  read(begin: number, count: number): Promise<Float64Array>;
}

/** What an engine wrote: arrays by name. */
export interface Dump {
  /** Path or URL. */
  readonly name: string;
  /** The arrays. */
  readonly arrays: ReadonlyMap<string, DumpArray>;
  /** The metadata of a safetensors file; else empty. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Closes the file. */
  close(): void;
}

/** JSON is held in memory whole. */
const MAX_JSON_BYTES = 2 ** 28;

/**
 * Opens a dump by what it holds: safetensors, .npy, or JSON (an object of nested lists, a nested
 * list, or a line for each token as `engram hash --out x.jsonl` writes).
 *
 * @throws an {@linkcode EngramError} where it is none of them.
 */
export async function openDump(location: string): Promise<Dump> {
  const source = await openLocation(location);
  try {
    return await recognize(source);
  } catch (error) {
    source.close();
    throw error;
  }
}

async function recognize(source: ByteSource): Promise<Dump> {
  const { name } = source;
  const head = new Uint8Array(Math.min(source.size, 9));
  await source.read(head, 0);
  const close = () => source.close();
  if (isNpy(head)) {
    const array = await npyArray(source);
    return { name, arrays: new Map([["", array]]), metadata: new Map(), close };
  }
  if (head.length === 9 && head.subarray(4, 8).every((byte) => byte === 0)) {
    const file = await openSafetensors(source);
    const arrays = [...file.tensors.values()].map(
      ({ name, dtype, shape, offset }): [string, DumpArray] => [
        name,
        { name, dtype, shape, read: reader(source, dtype, offset) },
      ],
    );
    return { name, arrays: new Map(arrays), metadata: file.metadata, close };
  }
  if (source.size > MAX_JSON_BYTES) {
    throw new EngramError(
      "usage",
      `Cannot compare \`${name}\`: found JSON of ${source.size} bytes, wanted at most ` +
        `${MAX_JSON_BYTES}`,
      { where: name, hint: "Write it as safetensors or .npy: those are read in pieces" },
    );
  }
  const bytes = new Uint8Array(source.size);
  await source.read(bytes, 0);
  return { name, arrays: jsonArrays(bytes, name), metadata: new Map(), close };
}

/** NumPy has no bf16; libraries that add it write two opaque bytes. */
const NPY_FLOATS: Readonly<Record<string, string>> = { f2: "F16", V2: "BF16" };

async function npyArray(source: ByteSource): Promise<DumpArray> {
  const { descr, fortranOrder, shape, offset } = await readNpyHeader(source);
  const dtype = npyDtype(descr) ?? NPY_FLOATS[descr.slice(1)];
  if (fortranOrder && shape.length > 1 || dtype === undefined) {
    throw new EngramError(
      "malformed",
      `Cannot compare \`${source.name}\`: found ${descr}${
        fortranOrder ? " in Fortran order" : ""
      }, wanted numbers in C order`,
      { where: source.name, hint: "Save it with numpy.ascontiguousarray, as a plain type" },
    );
  }
  return { name: "", dtype, shape, read: reader(source, dtype, offset, descr) };
}

/** Bytes of the types that are read beside those of {@linkcode numbersOf}. */
const WIDTHS: Readonly<Record<string, number>> = { BF16: 2, F16: 2, F8_E4M3: 1, F8_E8M0: 1 };

function reader(source: ByteSource, dtype: string, offset: number, descr = "<") {
  return async (begin: number, count: number): Promise<Float64Array> => {
    const width = isNumberDtype(dtype) ? numberBytes(dtype) : WIDTHS[dtype];
    if (width === undefined) {
      throw new EngramError(
        "malformed",
        `Cannot compare values of ${dtype} in \`${source.name}\``,
        {
          where: source.name,
        },
      );
    }
    const bytes = new Uint8Array(count * width);
    await source.read(bytes, offset + begin * width);
    toLittleEndian(descr, bytes, width);
    if (isNumberDtype(dtype)) return Float64Array.from(numbersOf(dtype, bytes), Number);
    if (width === 1) return Float64Array.from(bytes);
    const bits = new Uint16Array(bytes.buffer);
    return dtype === "BF16"
      ? Float64Array.from(widenBf16(bits))
      : Float64Array.from(bits, (value) => f16Value(value));
  };
}

/** One layer of an array [tokens, layers, …] as an array [tokens, …]. */
export function layerOf(array: DumpArray, layer: number, name: string): DumpArray {
  const [tokens, layers, ...rest] = array.shape;
  const size = rest.reduce((product, n) => product * n, 1);
  return {
    name,
    dtype: array.dtype,
    shape: [tokens, ...rest],
    async read(begin, count) {
      const values = new Float64Array(count);
      for (let at = 0; at < count;) {
        const token = Math.floor((begin + at) / size);
        const within = (begin + at) - token * size;
        const length = Math.min(size - within, count - at);
        values.set(await array.read((token * layers + layer) * size + within, length), at);
        at += length;
      }
      return values;
    },
  };
}
