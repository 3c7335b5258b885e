import { EngramError } from "../errors.ts";
import { checkSpans } from "./check_spans.ts";
import { type Dtype, isDtype } from "./dtype.ts";
import { HeaderFault } from "./header_fault.ts";
import { JsonReader } from "./json_reader.ts";
import { quote } from "./quote.ts";

/** What the header says of one tensor. */
export interface TensorInfo {
  /** Element type. */
  readonly dtype: Dtype;
  /** Sizes of the dimensions. */
  readonly shape: readonly number[];
  /** First byte, counted from the end of the header. */
  readonly begin: number;
  /** Byte after the last one, counted from the end of the header. */
  readonly end: number;
}

/** A parsed and checked header. */
export interface Header {
  /** The `__metadata__` strings, in the header's order. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Tensors by name, in the order of their bytes. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
}

/**
 * Parses the JSON of a safetensors header, as strict as the reference library 0.8.0, and checks it
 * against the data it describes: every byte of the data belongs to exactly one tensor.
 * Each fault throws an `EngramError` of kind `malformed` with a reason of its own.
 *
 * @param bytes The header without its length.
 * @param dataBytes How many bytes come after the header.
 * @param where The file, for messages.
 *
 * @example
 * ```ts
 * import { parseHeader } from "./header.ts";
 *
 * const json = '{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}';
 * const header = parseHeader(new TextEncoder().encode(json), 2, "example");
 * header.tensors.get("a")?.shape; // [2]
 * ```
 */
export function parseHeader(bytes: Uint8Array, dataBytes: number, where: string): Header {
  try {
    const { metadata, entries } = readEntries(decode(bytes));
    return { metadata, tensors: checkSpans(entries, dataBytes) };
  } catch (error) {
    if (!(error instanceof HeaderFault)) throw error;
    throw new EngramError(
      "malformed",
      `Cannot read the header of \`${where}\`: ${error.message}`,
      { where },
    );
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new HeaderFault("found bytes that are not UTF-8, wanted JSON in UTF-8");
  }
}

function readEntries(text: string): {
  metadata: Map<string, string>;
  entries: Map<string, TensorInfo>;
} {
  const json = new JsonReader(text);
  const entries = new Map<string, TensorInfo>();
  let metadata: Map<string, string> | undefined;
  json.object("the header", (name) => {
    if (name === "__metadata__") {
      if (metadata) json.fail('a second "__metadata__"', "one");
      metadata = readMetadata(json);
      return;
    }
    const entry = within(name, () => readEntry(json));
    const before = entries.get(name);
    if (before && !sameEntry(before, entry)) {
      json.fail(
        `two entries for tensor ${quote(name)} that differ`,
        "one entry for each name",
      );
    }
    entries.set(name, entry);
  });
  json.end();
  return { metadata: metadata ?? new Map(), entries };
}

function readMetadata(json: JsonReader): Map<string, string> {
  const metadata = new Map<string, string>();
  if (json.null()) return metadata;
  json.object('"__metadata__"', (key) => {
    const value = json.string(`the metadata ${quote(key)}`);
    const before = metadata.get(key);
    if (before !== undefined && before !== value) {
      json.fail(`two values for the metadata ${quote(key)}`, "one");
    }
    metadata.set(key, value);
  });
  return metadata;
}

function readEntry(json: JsonReader): TensorInfo {
  let dtype: Dtype | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  const once = (before: unknown, part: string) => {
    if (before !== undefined) json.fail(`a second "${part}"`, "one");
  };
  json.object("its entry", (key) => {
    if (key === "dtype") {
      once(dtype, key);
      const text = json.string('"dtype"');
      if (!isDtype(text)) json.fail(`the dtype ${quote(text)}`, "one of the format");
      dtype = text;
    } else if (key === "shape") {
      once(shape, key);
      shape = readCounts(json, '"shape"');
    } else if (key === "data_offsets") {
      once(offsets, key);
      offsets = readCounts(json, '"data_offsets"');
    } else json.skip();
  });
  if (dtype === undefined) json.fail('no "dtype"', "one");
  if (shape === undefined) json.fail('no "shape"', "one");
  if (offsets === undefined) json.fail('no "data_offsets"', "one");
  if (offsets.length !== 2) json.fail(`${offsets.length} numbers in "data_offsets"`, "two");
  return { dtype, shape, begin: offsets[0], end: offsets[1] };
}

function readCounts(json: JsonReader, what: string): number[] {
  const counts: number[] = [];
  json.array(what, () => counts.push(json.count(what)));
  return counts;
}

/** Reads a tensor's entry; a fault in it names the tensor (only then is the name quoted). */
function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HeaderFault)) throw error;
    throw new HeaderFault(`tensor ${quote(name)}: ${error.message}`);
  }
}

function sameEntry(a: TensorInfo, b: TensorInfo): boolean {
  return a.dtype === b.dtype && a.begin === b.begin && a.end === b.end &&
    a.shape.length === b.shape.length && a.shape.every((size, i) => size === b.shape[i]);
}
