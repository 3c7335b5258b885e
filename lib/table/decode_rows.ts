import { EngramError } from "../errors.ts";
import { BlockDecoder } from "./block_decoder.ts";
import type { RowEncoding } from "./row_store.ts";

/**
 * Decodes whole records (a row's codes, then its scales) to bf16 bits, rounded to nearest even.
 * `records` is [n, recordBytes], `out` takes n * headDim values. NaN comes out as a NaN: 0x7fff,
 * or the given bits where the rows are bf16 already.
 */
export function decodeRecords(encoding: RowEncoding, records: Uint8Array, out: Uint16Array): void {
  const rows = records.length / encoding.recordBytes;
  if (!Number.isInteger(rows)) {
    throw new EngramError(
      "malformed",
      `Cannot decode rows: found ${records.length} bytes, wanted a multiple of ${encoding.recordBytes}`,
    );
  }
  if (out.length !== rows * encoding.headDim) {
    throw new EngramError(
      "usage",
      `Cannot decode ${rows} rows: found room for ${out.length} values, wanted ${
        rows * encoding.headDim
      }`,
    );
  }
  const { recordBytes, headDim } = encoding;
  const decoder = decoderOf(encoding);
  for (let first = 0; first < rows; first += decoder.blockRows) {
    const end = Math.min(first + decoder.blockRows, rows);
    decoder.records.set(records.subarray(first * recordBytes, end * recordBytes));
    out.set(decoder.decode(end - first), first * headDim);
  }
}

const decoders = new WeakMap<RowEncoding, BlockDecoder>();

/** Making a decoder takes longer than decoding a few rows. */
function decoderOf(encoding: RowEncoding): BlockDecoder {
  let decoder = decoders.get(encoding);
  if (!decoder) decoders.set(encoding, decoder = new BlockDecoder(encoding));
  return decoder;
}
