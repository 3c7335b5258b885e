import type { ByteSource } from "../bytes/byte_source.ts";
import { openLocation } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import { openSafetensors } from "../safetensors/safetensors_file.ts";
import type { IdSource } from "./id_source.ts";
import { isNpy } from "./npy_header.ts";
import { idsOfNpy } from "./ids_of_npy.ts";
import { idsOfSafetensors } from "./ids_of_safetensors.ts";
import { idsOfText } from "./ids_of_text.ts";

/**
 * Opens a file of token ids, by what it holds and not by its name: safetensors (`token_ids`, and
 * where they are there `dead` and `starts`), .npy of one dimension, or text: a JSON array of
 * integers, a list of such arrays (each a request), an array a line, or plain integers.
 *
 * @throws an {@linkcode EngramError} where the file cannot be read or is none of these; reading
 * throws where an id is not an integer from 0 to 2^31 - 1, with its position in the request.
 *
 * @example
 * ```ts ignore
 * const source = await openIds("ids.npy");
 * for await (const { ids, requestStart } of source.chunks()) console.log(ids.length, requestStart);
 * source.close();
 * ```
 */
export async function openIds(location: string): Promise<IdSource> {
  const source = await openLocation(location);
  try {
    return await recognize(source);
  } catch (error) {
    source.close();
    throw error;
  }
}

async function recognize(source: ByteSource): Promise<IdSource> {
  const head = new Uint8Array(Math.min(source.size, 9));
  await source.read(head, 0);
  if (isNpy(head)) return await idsOfNpy(source);
  // A header's length is below 2^32, so that bytes 4 to 7 are zeros, which no text has.
  if (head.length === 9 && head.subarray(4, 8).every((byte) => byte === 0)) {
    return await idsOfSafetensors(await openSafetensors(source));
  }
  if (head.some((byte) => byte === 0 || byte > 0x7f)) {
    throw new EngramError(
      "malformed",
      `Cannot read token ids of \`${source.name}\`: found neither safetensors nor .npy nor text`,
      { where: source.name },
    );
  }
  return idsOfText(source);
}
