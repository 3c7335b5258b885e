import { openLocation } from "../lib/bytes/open_location.ts";
import { EngramError } from "../lib/errors.ts";
import { streamTensor } from "../lib/safetensors/read_tensor.ts";
import { openSafetensors } from "../lib/safetensors/safetensors_file.ts";
import type { Tensor } from "../lib/safetensors/tensor.ts";

/** The row numbers asked for of one layer. */
export interface LayerRequest {
  /** The layer's id. */
  readonly layerId: number;
  /** How many. */
  readonly count: number;
  /** The numbers, in order, in pieces of at most `most`. */
  pieces(most: number): AsyncGenerator<Float64Array>;
}

/** The row numbers a file asks for. */
export interface RowRequests extends Disposable {
  /** The file. */
  readonly path: string;
  /** By layer, in the order of their ids. */
  readonly layers: readonly LayerRequest[];
}

const NAME = /^layers\.(0|[1-9]\d{0,9})\.row_ids$/;

/**
 * Opens row numbers by layer: safetensors `layers.N.row_ids` I64 [n], or JSON `{"1": [0, 5]}`.
 *
 * @throws an {@linkcode EngramError} that names the layer and index of what is no row number.
 */
export async function openRowRequests(path: string): Promise<RowRequests> {
  const requests = path.endsWith(".safetensors")
    ? await fromSafetensors(path)
    : await fromJson(path);
  if (requests.layers.length > 0) return requests;
  requests[Symbol.dispose]();
  throw fault(path, 'it asks for no rows, wanted {"LAYER": [ROW, …]} or layers.N.row_ids');
}

async function fromSafetensors(path: string): Promise<RowRequests> {
  const file = await openSafetensors(await openLocation(path));
  const layers: LayerRequest[] = [];
  for (const tensor of file.tensors.values()) {
    const match = NAME.exec(tensor.name);
    if (!match) continue;
    if (tensor.dtype !== "I64" || tensor.shape.length !== 1) {
      file.close();
      throw fault(
        path,
        `tensor "${tensor.name}" is ${tensor.dtype} [${tensor.shape.join(", ")}], wanted I64 [n]`,
      );
    }
    layers.push({
      layerId: Number(match[1]),
      count: tensor.shape[0],
      pieces: (most) => int64Pieces(tensor, most),
    });
  }
  layers.sort((a, b) => a.layerId - b.layerId);
  return { path, layers, [Symbol.dispose]: () => file.close() };
}

async function* int64Pieces(tensor: Tensor, most: number): AsyncGenerator<Float64Array> {
  for await (const bytes of streamTensor(tensor, { chunkBytes: most * 8 })) {
    const words = new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
    // Past 2^53 a number is no row anyway, whatever its last bits.
    yield Float64Array.from(words, Number);
  }
}

async function fromJson(path: string): Promise<RowRequests> {
  const source = await openLocation(path);
  const bytes = new Uint8Array(source.size);
  try {
    await source.read(bytes, 0);
  } finally {
    source.close();
  }
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw fault(path, `it is not JSON (${(cause as Error).message.split("\n", 1)[0]})`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw fault(path, 'found no object, wanted {"LAYER": [ROW, …]}');
  }
  const layers = Object.entries(value).map(([key, rows]): LayerRequest => {
    if (!/^(0|[1-9]\d{0,9})$/.test(key)) {
      throw fault(path, `found key ${JSON.stringify(key)}, wanted a layer's id`);
    }
    if (!Array.isArray(rows)) throw fault(path, `layer ${key} holds no list, wanted row numbers`);
    const bad = rows.findIndex((row) => typeof row !== "number");
    if (bad >= 0) {
      throw fault(
        path,
        `row ${bad} of layer ${key} is ${JSON.stringify(rows[bad])}, wanted a number`,
      );
    }
    const ids = Float64Array.from(rows);
    return {
      layerId: Number(key),
      count: ids.length,
      async *pieces(most) {
        for (let at = 0; at < ids.length; at += most) yield ids.subarray(at, at + most);
      },
    };
  });
  // The lists hold numbers alone, so that every colon belongs to a layer: of one named twice the
  // parser keeps the last.
  if (text.split(":").length - 1 > layers.length) throw fault(path, "it names a layer twice");
  layers.sort((a, b) => a.layerId - b.layerId);
  return { path, layers, [Symbol.dispose]: () => {} };
}

function fault(path: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot read rows from \`${path}\`: ${found}`, {
    where: path,
  });
}
