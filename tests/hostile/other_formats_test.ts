import { match, ok, rejects } from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { EngramError } from "../../lib/errors.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";

const text = (content: string) => new TextEncoder().encode(content);
const bytes = (...head: number[]) => new Uint8Array([...head, ...new Array(600).fill(0x20)]);

const LFS = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 101535150936
`;

/** Files people have in place of a checkpoint: what each is called, and what the hint says. */
const OTHERS: Record<string, [file: Uint8Array, found: string, hint: RegExp]> = {
  "web page": [text("<!DOCTYPE html><html><body>Sign in</body></html>"), "a web page", /login/],
  "web page after a line break": [text("\r\n  <HTML lang='en'>"), "a web page", /login/],
  "XML error": [text('<?xml version="1.0"?><Error><Code>AccessDenied'), "a web page", /login/],
  "LFS pointer": [text(LFS), "a Git LFS pointer (to a file of 101535150936 bytes)", /git lfs pull/],
  "zip": [bytes(0x50, 0x4b, 3, 4, 0, 0, 8, 8), "a zip archive", /Convert/],
  "zip with a possible length": [bytes(0x50, 0x4b, 3, 4, 0, 0, 0, 0), "a zip archive", /Convert/],
  "gzip": [new Uint8Array(gzipSync(text("{}".repeat(500)))), "a gzip archive", /Unpack/],
  "gzip of a possible length": [
    Uint8Array.from({ length: 600_000 }, (_, i) => [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][i] ?? 1),
    "a gzip archive",
    /Unpack/,
  ],
  "old PyTorch": [bytes(0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46), "a pickle", /Convert/],
  "pickle": [bytes(0x80, 4, 0x95, 1, 0, 0, 0, 0), "a Python pickle", /Convert/],
  "GGUF": [bytes(...text("GGUF"), 3, 0, 0, 0), "a GGUF file", /safetensors/],
  "npy": [bytes(0x93, ...text("NUMPY"), 1, 0), "a NumPy array", /\.npy/],
  "HDF5": [bytes(0x89, ...text("HDF\r\n\x1a\n")), "an HDF5 file", /Convert/],
  "Zstandard": [bytes(0x28, 0xb5, 0x2f, 0xfd, 1, 1, 1, 1), "a Zstandard archive", /Unpack/],
  "xz": [bytes(0xfd, ...text("7zXZ"), 0, 0, 4), "an xz archive", /Unpack/],
  "bzip2": [bytes(...text("BZh91AY&")), "a bzip2 archive", /Unpack/],
  "PDF": [bytes(...text("%PDF-1.7")), "a PDF document", /checkpoint file/],
  "JSON": [text('{"metadata": {}, "weight_map": {}}'), "JSON text", /folder/],
};

for (const [name, [file, found, hint]] of Object.entries(OTHERS)) {
  Deno.test(`in place of a checkpoint: ${name}`, async () => {
    await rejects(openSafetensors(memorySource(file, "model.safetensors")), (error) => {
      if (!(error instanceof EngramError)) throw error;
      ok(error.message.includes(`found ${found}`), error.message);
      match(String(error.hint), hint);
      return error.kind === "malformed";
    });
  });
}
