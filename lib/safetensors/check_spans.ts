import type { TensorInfo } from "./header.ts";
import { JsonError } from "./json_reader.ts";
import { quote, quoteShape } from "./quote.ts";
import { tensorBytes } from "./tensor_bytes.ts";

/**
 * Checks that each entry's span is as long as its shape and dtype want, and that together they
 * cover the data: no hole, no overlap, no byte before, after or missing. Returns the entries in
 * the order of their bytes.
 */
export function checkSpans(
  entries: ReadonlyMap<string, TensorInfo>,
  dataBytes: number,
): Map<string, TensorInfo> {
  // An empty tensor comes before the one that starts at the same byte.
  const sorted = [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  let before: [string, TensorInfo] | undefined;
  for (const [name, info] of sorted) {
    checkLength(name, info);
    if (info.begin !== at) throw new JsonError(misplaced(before, name, info, at));
    at = info.end;
    before = [name, info];
  }
  if (at === dataBytes) return new Map(sorted);
  const last = before ? `tensor ${quote(before[0])} ending` : "no tensor, so an end";
  throw new JsonError(
    at > dataBytes
      ? `found ${last} at byte ${at} of the data, past its ${dataBytes} bytes, ` +
        "wanted all of them there (the file looks cut short)"
      : `found ${dataBytes - at} bytes after the last tensor, wanted none`,
  );
}

function checkLength(name: string, info: TensorInfo): void {
  const { dtype, shape, begin, end } = info;
  const of = `tensor ${quote(name)}`;
  if (end < begin) {
    throw new JsonError(
      `found ${of} ending at byte ${end}, before its start ${begin}, wanted after`,
    );
  }
  const wanted = tensorBytes(dtype, shape);
  const size = quoteShape(dtype, shape);
  if (wanted === "overflow") {
    throw new JsonError(`found ${of} of ${size}, more than any file holds, wanted a smaller shape`);
  }
  if (wanted === "part of a byte") {
    throw new JsonError(`found ${of} of ${size}, which ends inside a byte, wanted whole bytes`);
  }
  if (end - begin !== wanted) {
    throw new JsonError(
      `found ${end - begin} bytes for ${of}, wanted ${wanted} for ${size}`,
    );
  }
}

function misplaced(
  before: [string, TensorInfo] | undefined,
  name: string,
  info: TensorInfo,
  at: number,
): string {
  const of = `tensor ${quote(name)}`;
  if (info.begin > at) {
    return `found ${info.begin - at} bytes before ${of} that belong to no tensor, wanted no holes`;
  }
  const other = quote(before?.[0]);
  const alias = info.begin === before?.[1].begin && info.end === before[1].end;
  return alias
    ? `found ${of} on the same bytes as tensor ${other}, wanted bytes of its own`
    : `found ${of} starting at byte ${info.begin}, inside tensor ${other} that ends at ${at}, ` +
      "wanted no overlap";
}
