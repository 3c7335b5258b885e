import type { Encoder } from "./encoder.ts";

/** The reference library itself, as a native addon (needs the read, env and ffi permissions). */
export async function nativeEncoder(json: string): Promise<Encoder> {
  const { Tokenizer } = await import("@anush008/tokenizers");
  const native = Tokenizer.fromString(json);
  // The file's own truncation and padding are for training batches; they would change the ids.
  native.disableTruncation();
  native.disablePadding();
  return {
    async encodeBatch(texts) {
      const encodings = await native.encodeBatch([...texts], { addSpecialTokens: false });
      return encodings.map((encoding) => Int32Array.from(encoding.getIds()));
    },
  };
}
