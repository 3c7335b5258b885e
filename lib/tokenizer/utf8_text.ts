import { EngramError } from "../errors.ts";

/**
 * Decodes UTF-8 bytes as they come. A byte order mark is kept: it is part of the text.
 * Throws an `EngramError` with the byte offset of the first byte that is not UTF-8.
 */
export async function* utf8Text(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let carried = new Uint8Array(0);
  let offset = 0;
  for await (const chunk of chunks) {
    const text = decode(chunk);
    carried = unfinished(chunk, carried);
    offset += chunk.length;
    if (text !== "") yield text;
  }
  decode(null);

  function decode(chunk: Uint8Array | null): string {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      const bytes = new Uint8Array(carried.length + (chunk?.length ?? 0));
      bytes.set(carried);
      if (chunk) bytes.set(chunk, carried.length);
      const at = firstInvalid(bytes);
      const byte = bytes[at].toString(16).padStart(2, "0");
      throw new EngramError(
        "malformed",
        `Cannot read text \`${name}\`: found byte 0x${byte} at offset ${
          offset - carried.length + at
        }, wanted UTF-8`,
        { where: name, hint: "Convert the file to UTF-8 first, for example with iconv" },
      );
    }
  }
}

/** The bytes of a character that `chunk` ends within; `carried` is what the last chunk left. */
function unfinished(chunk: Uint8Array, carried: Uint8Array): Uint8Array<ArrayBuffer> {
  const tail = new Uint8Array(carried.length + Math.min(chunk.length, 4));
  tail.set(carried);
  tail.set(chunk.subarray(Math.max(0, chunk.length - 4)), carried.length);
  for (let back = 1; back <= Math.min(3, tail.length); back++) {
    const lead = tail[tail.length - back];
    if (lead >= 0xc0) {
      return lengthOf(lead) > back ? tail.slice(tail.length - back) : tail.slice(0, 0);
    }
    if (lead < 0x80) break;
  }
  return tail.slice(0, 0);
}

function lengthOf(lead: number): number {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** Offset of the first character that is no UTF-8: after the longest prefix that could go on. */
function firstInvalid(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (good < bad) {
    const middle = (good + bad) >> 1;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle + 1), {
        stream: true,
      });
      good = middle + 1;
    } catch {
      bad = middle;
    }
  }
  return good - unfinished(bytes.subarray(0, good), new Uint8Array(0)).length;
}
