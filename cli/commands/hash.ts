import { createHash } from "node:crypto";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import { begin, command, type Context } from "../command.ts";
import { checkHashOutput, type HashedTokens, openHashOutput } from "../hash_output.ts";
import { table } from "../printer.ts";
import { openTokenInput, type TokenInput } from "../token_input.ts";
import { withTokenOptions } from "../token_options.ts";
import { TokenSpool } from "../token_spool.ts";
import { count } from "../units.ts";

/** Tokens hashed between two looks at the signal: some milliseconds, some megabytes of rows. */
const PIECE = 32_768;

/** Tokens and columns shown of a result. */
const SHOWN_TOKENS = 8;
const SHOWN_COLUMNS = 4;

export function hashCommand() {
  return withTokenOptions(
    command("hash", {
      summary: "Hash texts or token ids to the rows of each layer's table",
      details: "Each text file is a request of its own. The output's ending names its format: " +
        ".safetensors (token_ids, hash_ids, starts, dead), .npy (hash_ids) or .jsonl.",
      examples: [
        ["hash MODEL --text book.txt --out book.safetensors", "hash a text"],
        ["hash MODEL --text corpus/ notes.txt --out all.npy", "a folder and a file at once"],
        ["hash MODEL/config.json --ids ids.npy --map map.safetensors", "token ids, no tokenizer"],
        ["hash MODEL --text - --json < book.txt", "standard input, only the summary"],
      ],
      permissions: "--allow-read --allow-write (--out) --allow-ffi --allow-env (tokenizing)",
    }).argument("<checkpoint>", "folder, safetensors file or config.json"),
  )
    .option("--out <file>", "write the hash ids: .safetensors, .npy or .jsonl")
    .option("--force", "replace --out where it exists")
    .action(async (place, options) => {
      const context = begin(options);
      const { out, force = false } = options;
      if (out !== undefined) {
        checkHashOutput(out);
        // Found out now, not after an hour of tokenizing.
        OutputFile.create(out, { force }).abort();
      }
      const checkpoint = await openCheckpoint(place);
      try {
        for (const warning of checkpoint.warnings) context.printer.warn(warning);
        const input = await openTokenInput(options, checkpoint, context);
        const job = new HashJob(input);
        if (out === undefined) await job.summarize();
        else await job.write(out, force, context);
        report(context, job, out ?? null);
      } finally {
        checkpoint.close();
      }
    });
}

/** One run: counts and digests what it hashes. */
class HashJob {
  readonly input: TokenInput;
  readonly #stream: StreamHasher;
  readonly #digest = createHash("sha256");
  tokens = 0;
  requests = 0;
  dead = 0;
  /** The first tokens, for people. */
  readonly first: { tokenId: number; compressed: number; rows: Int32Array }[] = [];

  constructor(input: TokenInput) {
    this.input = input;
    this.#stream = new StreamHasher(new NgramHasher(input.layout, input.padId));
  }

  /** Hex SHA-256 of all hash ids as int32 little-endian; ends the digest. */
  readonly sha256 = (): string => this.#digest.digest("hex");

  /** Hashes everything and keeps nothing but counts. */
  async summarize(): Promise<void> {
    for await (const { tokenIds, dead, requestStart } of this.input.chunks()) {
      this.#hash(tokenIds, dead, requestStart ? [0] : []);
    }
  }

  /** Hashes everything into a file. Its size is known only once all is tokenized, hence the spool. */
  async write(path: string, force: boolean, { signal, progress }: Context): Promise<void> {
    const { input } = this;
    using spool = new TokenSpool(path);
    for await (const chunk of input.chunks()) spool.append(chunk);
    const { tokens, starts } = spool;
    const plan = {
      tokens,
      starts,
      layout: input.layout,
      padId: input.padId,
      mapDigest: input.map.sha256,
      force,
    };
    using output = openHashOutput(path, plan);
    const bar = progress("Hashing", tokens, "tokens");
    try {
      for (const { tokenIds, dead, starts } of spool.read(PIECE)) {
        output.append(this.#hash(tokenIds, dead, starts));
        bar.advance(tokenIds.length);
        // Signals arrive only between turns of the event loop.
        await new Promise((resume) => setTimeout(resume, 0));
        if (signal.aborted) throw new EngramError("interrupted", "Interrupted");
      }
    } finally {
      bar.stop();
    }
    output.commit();
    this.requests = starts.length;
  }

  #hash(tokenIds: Int32Array, dead: Uint8Array, starts: number[]): HashedTokens {
    const { map } = this.input.map;
    const compressed = tokenIds.map((id) => map[id]);
    const rows = this.#stream.push(compressed, dead, starts);
    this.#digest.update(new Uint8Array(rows.buffer));
    const each = rows.length / tokenIds.length;
    for (let i = 0; i < tokenIds.length && this.first.length < SHOWN_TOKENS; i++) {
      this.first.push({
        tokenId: tokenIds[i],
        compressed: compressed[i],
        rows: rows.slice(i * each, (i + 1) * each),
      });
    }
    this.tokens += tokenIds.length;
    this.requests += starts.length;
    for (const flag of dead) this.dead += flag;
    return { tokenIds, dead, starts, rows };
  }
}

function report({ printer }: Context, job: HashJob, out: string | null): void {
  const { layout, padId, map, tokenizer } = job.input;
  const sha256 = job.sha256();
  const layerIds = layout.layers.map((layer) => layer.layerId);
  const value = {
    tokens: job.tokens,
    requests: job.requests,
    dead_tokens: job.dead,
    layer_ids: layerIds,
    columns: layout.columns,
    compressed_pad_id: padId,
    map: {
      tokens: map.map.length,
      compressed_vocab_size: map.compressedVocabSize,
      sha256: map.sha256,
    },
    hash_ids_sha256: sha256,
    out,
  };
  printer.result(value, () => {
    const lines = [
      `${count(job.tokens)} tokens of ${count(job.requests)} requests, ${count(job.dead)} dead, ` +
      `to ${layerIds.length} layers × ${layout.columns} columns`,
      `map of ${count(map.map.length)} tokens to ${
        count(map.compressedVocabSize)
      }, sha256 ${map.sha256}`,
      `hash ids, sha256 ${sha256}`,
    ];
    if (out !== null) lines.push(`written to ${out}`);
    if (job.first.length === 0) return lines.join("\n");
    const head = ["token", ...(tokenizer ? ["text"] : []), "compressed"];
    const shown = Math.min(SHOWN_COLUMNS, layout.columns);
    const rows = job.first.map(({ tokenId, compressed, rows }) => [
      tokenId,
      ...(tokenizer ? [JSON.stringify(tokenizer.decodeOne(tokenId))] : []),
      compressed,
      ...layerIds.map((_, layer) => {
        const at = layer * layout.columns;
        const some = rows.subarray(at, at + shown).join(" ");
        return layout.columns > shown ? `${some} …` : some;
      }),
    ]);
    const layerHead = layerIds.map((id) => `rows of layer ${id}`);
    return [...lines, "", table([...head, ...layerHead], rows)].join("\n");
  });
}
