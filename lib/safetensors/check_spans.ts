import type { TensorInfo } from "./header.ts";
import { HeaderFault } from "./header_fault.ts";
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
    if (info.begin !== at) throw new HeaderFault(misplaced(before, name, info, at));
    at = info.end;
    before = [name, info];
  }
  if (at === dataBytes) return new Map(sorted);
  const last = before ? `tensor ${quote(before[0])} ending` : "no tensor, so an end";
  throw new HeaderFault(
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
    throw new HeaderFault(
      `found ${of} ending at byte ${end}, before its start ${begin}, wanted after`,
    );
  }
  const wanted = tensorBytes(dtype, shape);
  const size = quoteShape(dtype, shape);
  if (wanted === "overflow") {
    throw new HeaderFault(
      `found ${of} of ${size}, more than any file holds, wanted a smaller shape`,
    );
  }
  if (wanted === "part of a byte") {
    throw new HeaderFault(`found ${of} of ${size}, which ends inside a byte, wanted whole bytes`);
  }
  if (end - begin !== wanted) {
    throw new HeaderFault(
      `found ${end - begin} bytes for ${of}, wanted ${wanted} for ${size}`,
    );
  }
}

/** In words: the span of `name` does not begin at `at`, where the one before it ended. */
function misplaced(
  before: [string, TensorInfo] | undefined,
  name: string,
  info: TensorInfo,
  at: number,
): string {
  const of = `tensor ${quote(name)}`;
  if (info.begin > at || !before) {
    return `found ${info.begin - at} bytes before ${of} that belong to no tensor, wanted no hole`;
  }
  const [other, { begin, end }] = before;
  if (info.begin === begin && info.end === end) {
    return `found ${of} on the same bytes as tensor ${quote(other)}, wanted bytes of its own`;
  }
  return `found ${of} starting at byte ${info.begin}, inside tensor ${quote(other)} that ends at ` +
    `${at}, wanted no overlap`;
}
