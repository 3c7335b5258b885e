import { createHash } from "node:crypto";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { knownMap } from "../../lib/tokenizer/known_maps.ts";
import { begin, command, type Context } from "../command.ts";
import { part } from "../part.ts";
import { DISK_SPACE, NATIVE_TOKENIZER, READ, REMOTE, writeWith } from "../permissions.ts";
import { table } from "../printer.ts";
import { openTokenInput, type TokenInput } from "../token_input.ts";
import { runTokenJob, type TokenCounts } from "../token_job.ts";
import { withTokenOptions } from "../token_options.ts";
import { checkTokenOutput } from "../token_output.ts";
import { count, counted } from "../units.ts";

/** Tokens hashed at once: some milliseconds, a megabyte or two of rows. */
const BATCH = 8192;

/** Tokens and columns shown of a result. */
const SHOWN_TOKENS = 8;
const SHOWN_COLUMNS = 4;

export function hashCommand() {
  return withTokenOptions(
    command("hash", {
      summary: "Hash texts or token ids to the rows of each layer's table",
      details:
        "Each text file is a request of its own, with the special tokens that its tokenizer puts " +
        "around a text. Name the checkpoint before --text, which takes " +
        "every path after it. The output's ending names its format: " +
        ".safetensors (token_ids, hash_ids, starts, dead), .npy (hash_ids) or .jsonl.",
      examples: [
        ["hash MODEL --text book.txt --out book.safetensors", "hash a text"],
        ["hash MODEL --text corpus/ notes.txt --out all.npy", "a folder and a file at once"],
        ["hash MODEL/config.json --ids ids.npy --map map.safetensors", "token ids, no tokenizer"],
        ["hash MODEL --text - --json < book.txt", "standard input, only the summary"],
      ],
      permissions: [READ, writeWith("--out"), DISK_SPACE, NATIVE_TOKENIZER, REMOTE],
    }).argument("<checkpoint>", "folder, safetensors file or config.json"),
  )
    .option("--out <file>", "write the hash ids: .safetensors, .npy or .jsonl")
    .option("--force", "replace --out where it exists")
    .option("--part <i/n>", "only part I of N, from 0: whole texts, or an equal run of --ids", part)
    .action(async (place, options) => {
      const context = begin(options);
      const { out = null, force = false } = options;
      // Found out now, not after an hour of tokenizing.
      if (out !== null) checkTokenOutput(out, force);
      const checkpoint = await openCheckpoint(place);
      try {
        for (const warning of checkpoint.warnings) context.printer.warn(warning);
        const input = await openTokenInput(options, checkpoint, context);
        report(context, input, out, await hashAll(input, out, force, context));
      } finally {
        checkpoint.close();
      }
    });
}

interface Hashed {
  readonly counts: TokenCounts;
  /** Hex SHA-256 of all hash ids as int32 little-endian. */
  readonly sha256: string;
  /** The first tokens, for people. */
  readonly first: { tokenId: number; rows: Int32Array }[];
}

async function hashAll(
  input: TokenInput,
  out: string | null,
  force: boolean,
  context: Context,
): Promise<Hashed> {
  const { layout, padId, map: { map, sha256 }, partStart } = input;
  const hasher = new NgramHasher(layout, padId);
  const stream = new StreamHasher(hasher);
  // What a part's first tokens look back to; its own rows are the part's before.
  if (partStart.lead) stream.push(partStart.lead.compressedIds, partStart.lead.dead);
  const digest = createHash("sha256");
  const first: Hashed["first"] = [];
  const plan = {
    force,
    origin: partStart,
    tensors: [{
      name: "hash_ids",
      dtype: "I32" as const,
      shape: [layout.layers.length, layout.columns],
    }],
    metadata: metadataOf(layout, padId, sha256),
  };
  const counts = await runTokenJob(input, {
    label: "Hashing",
    batch: BATCH,
    output: out === null ? null : { path: out, plan },
    // deno-lint-ignore require-await -- a throw has to become a rejection
    async work({ tokenIds, dead, starts }) {
      return stream.push(tokenIds.map((id) => map[id]), dead, starts);
    },
    done(rows, { tokenIds }) {
      digest.update(new Uint8Array(rows.buffer));
      const each = hasher.idsPerToken;
      for (let i = 0; i < tokenIds.length && first.length < SHOWN_TOKENS; i++) {
        first.push({ tokenId: tokenIds[i], rows: rows.slice(i * each, (i + 1) * each) });
      }
      return [rows];
    },
  }, context);
  return { counts, sha256: digest.digest("hex"), first };
}

function metadataOf(layout: Layout, padId: number, mapDigest: string): Record<string, string> {
  return {
    format: "engram-hash",
    layer_ids: JSON.stringify(layout.layers.map((layer) => layer.layerId)),
    max_ngram_size: String(layout.maxNgramSize),
    n_heads: String(layout.nHeads),
    compressed_vocab_size: String(layout.compressedVocabSize),
    compressed_pad_id: String(padId),
    token_map_sha256: mapDigest,
  };
}

function report(
  { printer }: Context,
  input: TokenInput,
  out: string | null,
  { counts, sha256, first }: Hashed,
): void {
  const { layout, padId, map } = input;
  const layerIds = layout.layers.map((layer) => layer.layerId);
  const value = {
    tokens: counts.tokens,
    requests: counts.requests,
    dead_tokens: counts.dead,
    layer_ids: layerIds,
    columns: layout.columns,
    compressed_pad_id: padId,
    map: {
      tokens: map.map.length,
      compressed_vocab_size: map.compressedVocabSize,
      sha256: map.sha256,
      known: knownMap(map.sha256),
    },
    hash_ids_sha256: sha256,
    out,
  };
  printer.result(value, () => {
    const known = knownMap(map.sha256);
    const lines = [
      `${counted(counts.tokens, "token")} in ${counted(counts.requests, "request")}, ` +
      `${count(counts.dead)} dead, to ${counted(layerIds.length, "layer")} × ` +
      counted(layout.columns, "column"),
      `token map: ${count(map.map.length)} to ${count(map.compressedVocabSize)}, ` +
      `${known ? `that of ${known}` : "of no model known here"}, sha256 ${map.sha256}`,
      `hash ids: sha256 ${sha256}`,
    ];
    if (out !== null) lines.push(`written to ${out}`);
    if (first.length > 0) lines.push("", firstTokens(input, first));
    return lines.join("\n");
  });
}

function firstTokens({ layout, map, tokenizer }: TokenInput, first: Hashed["first"]): string {
  const { columns, layers } = layout;
  const shown = Math.min(SHOWN_COLUMNS, columns);
  const more = columns > shown ? " …" : "";
  return table(
    [
      "token",
      ...(tokenizer ? ["text"] : []),
      "compressed",
      ...layers.map(({ layerId }) => `rows of layer ${layerId}`),
    ],
    first.map(({ tokenId, rows }) => [
      tokenId,
      ...(tokenizer ? [JSON.stringify(tokenizer.decodeOne(tokenId))] : []),
      map.map[tokenId],
      ...layers.map((_, i) => rows.subarray(i * columns, i * columns + shown).join(" ") + more),
    ]),
  );
}
