import { createHash } from "node:crypto";
import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { moduleOf, tableOf } from "../checkpoint/checkpoint.ts";

/** Enough to tell one source file from another without reading its content. */
export interface SourceIdentity {
  /** File name, without its folder. */
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** SHA-256 of the file's header (its length and JSON), hexadecimal. */
  readonly headerSha256: string;
}

/** Identities of the files that hold the Engram tensors, in the order of their names. */
export async function sourceIdentities(checkpoint: Checkpoint): Promise<SourceIdentity[]> {
  const used = new Set(
    checkpoint.layers.flatMap((layer) => {
      const { weight, scale } = tableOf(layer);
      const { wkv, qWeight, kWeight } = moduleOf(layer);
      return [weight, scale, wkv.weight, wkv.scale, qWeight, kWeight]
        .flatMap((tensor) => tensor ? [tensor.source] : []);
    }),
  );
  const identities: SourceIdentity[] = [];
  for (const [file, { source, headerBytes }] of checkpoint.files) {
    if (!used.has(source)) continue;
    const header = new Uint8Array(headerBytes);
    await source.read(header, 0);
    const headerSha256 = createHash("sha256").update(header).digest("hex");
    identities.push({ file, size: source.size, headerSha256 });
  }
  return identities.sort((a, b) => a.file < b.file ? -1 : 1);
}
