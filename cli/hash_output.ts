import { extname } from "node:path";
import { OutputFile } from "../lib/bytes/output_file.ts";
import { EngramError } from "../lib/errors.ts";
import type { Layout } from "../lib/layout/layout.ts";
import { SafetensorsWriter } from "../lib/safetensors/safetensors_writer.ts";

/** Some hashed tokens. */
export interface HashedTokens {
  readonly tokenIds: Int32Array;
  readonly dead: Uint8Array;
  /** Indices of the tokens that begin a request, ascending. */
  readonly starts: readonly number[];
  /** int32 [tokens, layers, columns]. */
  readonly rows: Int32Array;
}

/** A file that hashed tokens go to; it appears on commit, and is removed without. */
export interface HashOutput extends Disposable {
  append(hashed: HashedTokens): void;
  commit(): void;
}

/** What an output's header says, known before its first token. */
export interface HashOutputPlan {
  readonly tokens: number;
  /** First token of each request. */
  readonly starts: readonly number[];
  readonly layout: Layout;
  readonly padId: number;
  /** SHA-256 of the token map. */
  readonly mapDigest: string;
  readonly force: boolean;
}

const FORMATS: Record<string, (path: string, plan: HashOutputPlan) => HashOutput> = {
  ".safetensors": safetensors,
  ".jsonl": jsonLines,
};

/** Refuses a path whose ending names no format. */
export function checkHashOutput(path: string): void {
  if (Object.hasOwn(FORMATS, extname(path))) return;
  throw new EngramError(
    "usage",
    `Cannot write \`${path}\`: found the ending "${extname(path)}", ` +
      `wanted one of ${Object.keys(FORMATS).join(", ")}`,
    { where: "--out", hint: "safetensors holds everything, .npy the hash ids alone" },
  );
}

/** Begins the output at `path`, in the format that its ending names. */
export function openHashOutput(path: string, plan: HashOutputPlan): HashOutput {
  checkHashOutput(path);
  return FORMATS[extname(path)](path, plan);
}

function safetensors(path: string, plan: HashOutputPlan): HashOutput {
  const { tokens, starts, layout, padId, mapDigest, force } = plan;
  const { columns, layers, maxNgramSize, nHeads, compressedVocabSize } = layout;
  const writer = SafetensorsWriter.create(path, [
    { name: "token_ids", dtype: "I32", shape: [tokens] },
    { name: "dead", dtype: "U8", shape: [tokens] },
    { name: "starts", dtype: "I64", shape: [starts.length + 1] },
    { name: "hash_ids", dtype: "I32", shape: [tokens, layers.length, columns] },
  ], {
    force,
    metadata: {
      format: "engram-hash",
      layer_ids: JSON.stringify(layers.map((layer) => layer.layerId)),
      max_ngram_size: String(maxNgramSize),
      n_heads: String(nHeads),
      compressed_vocab_size: String(compressedVocabSize),
      compressed_pad_id: String(padId),
      token_map_sha256: mapDigest,
    },
  });
  return {
    append({ tokenIds, dead, rows }) {
      writer.append("token_ids", bytesOf(tokenIds));
      writer.append("dead", dead);
      writer.append("hash_ids", bytesOf(rows));
    },
    commit() {
      writer.append("starts", bytesOf(BigInt64Array.from([...starts, tokens], BigInt)));
      writer.commit();
    },
    [Symbol.dispose]: () => writer.abort(),
  };
}

function jsonLines(path: string, { layout, force }: HashOutputPlan): HashOutput {
  const file = OutputFile.create(path, { force });
  const encoder = new TextEncoder();
  const { columns, layers } = layout;
  let request = -1;
  let position = 0;
  return {
    append({ tokenIds, dead, starts, rows }) {
      const lines: string[] = [];
      let next = 0;
      tokenIds.forEach((tokenId, i) => {
        for (; starts[next] === i; next++) {
          request++;
          position = 0;
        }
        const hashIds = layers.map((_, layer) => {
          const at = (i * layers.length + layer) * columns;
          return Array.from(rows.subarray(at, at + columns));
        });
        const line = { request, position: position++, token_id: tokenId, dead: dead[i] === 1 };
        lines.push(JSON.stringify({ ...line, hash_ids: hashIds }) + "\n");
      });
      file.write(encoder.encode(lines.join("")));
    },
    commit: () => file.commit(),
    [Symbol.dispose]: () => file.abort(),
  };
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
