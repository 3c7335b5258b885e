import type { ByteSource } from "../bytes/byte_source.ts";
import { EngramError } from "../errors.ts";
import { idOf } from "./id_check.ts";
import { CHUNK_IDS, type IdSource } from "./id_source.ts";
import { readNpyHeader } from "./npy_header.ts";
import { npyDtype, numberBytes, numbersOf, toLittleEndian } from "./numbers_of.ts";

/** Token ids of an open .npy file of one dimension: one request. */
export async function idsOfNpy(source: ByteSource): Promise<IdSource> {
  const { descr, shape, offset } = await readNpyHeader(source);
  const dtype = npyDtype(descr);
  if (!dtype || dtype === "BOOL" || shape.length !== 1) {
    throw new EngramError(
      "malformed",
      `Cannot read token ids of \`${source.name}\`: found ${descr} of shape ` +
        `[${shape.join(", ")}], wanted integers of shape [tokens]`,
      { where: source.name },
    );
  }
  const [count] = shape;
  return {
    name: source.name,
    async *chunks() {
      for (let at = 0; at === 0 || at < count; at += CHUNK_IDS) {
        const bytes = new Uint8Array(Math.min(CHUNK_IDS, count - at) * numberBytes(dtype));
        await source.read(bytes, offset + at * numberBytes(dtype));
        toLittleEndian(descr, bytes, numberBytes(dtype));
        const values = numbersOf(dtype, bytes);
        const ids = Int32Array.from(values, (value, i) => idOf(value, at + i, source.name));
        yield { ids, requestStart: at === 0 };
      }
      source.checkUnchanged();
    },
    close: () => source.close(),
  };
}
