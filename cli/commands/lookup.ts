import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { begin, command } from "../command.ts";
import { deviceOption, openDevice } from "../device.ts";
import { LayerTables } from "../layer_tables.ts";
import { noteCache } from "../note_cache.ts";
import { DISK_SPACE, MAPPED, NATIVE_TOKENIZER, READ, REMOTE, writeWith } from "../permissions.ts";
import { BACKENDS, rankChoice, type RankOptions, withRankOptions } from "../rank_options.ts";
import { lookUpRowNumbers } from "../lookup_row_numbers.ts";
import { lookUpTokens } from "../lookup_tokens.ts";
import type { LookupResult } from "../lookup_job.ts";
import { openRowRequests } from "../row_requests.ts";
import { openTokenInput } from "../token_input.ts";
import { integer } from "../options.ts";
import { table } from "../printer.ts";
import { checkTokenOutput } from "../token_output.ts";
import { withTokenOptions } from "../token_options.ts";
import { count, counted } from "../units.ts";

/** `engram lookup`: the rows that tokens, or row numbers, stand for. */
export function lookupCommand() {
  return withRankOptions(withTokenOptions(
    command("lookup", {
      summary: "Look up the table rows of texts, token ids or row numbers",
      details:
        "Writes layers.N.rows, BF16 [tokens, columns, head_dim], with token_ids, dead and starts " +
        "(first token of each request, and the end). With --rows it is [rows, head_dim]. " +
        "A .npy file holds the rows alone as float32, [tokens, layers, columns, head_dim]. " +
        "Only the rows asked for are read, unless --backend keeps whole tables.\n\n" +
        "With --tp the table is split over ranks; the rows of all are looked up apart and " +
        "gathered. With --rank only that rank's columns are written, ceil(columns / ranks) of " +
        "them: zeros for those past the last column. Row numbers a rank does not hold give zeros. " +
        "With --shards the tables are read from shards, which know how they are split.\n\n" +
        `Of --backend: ${BACKENDS}`,
      examples: [
        ["lookup MODEL --text book.txt --out rows.safetensors", "the rows of a text's n-grams"],
        ["lookup MODEL --rows rows.json --out rows.safetensors", 'rows.json: {"1": [0, 24957922]}'],
        ["lookup MODEL --ids ids.json --tp 4 --rank 1 --out r1.safetensors", "what rank 1 gives"],
      ],
      permissions: [READ, writeWith("--out"), DISK_SPACE, NATIVE_TOKENIZER, MAPPED, REMOTE],
    }).argument("<checkpoint>", "folder or safetensors file with the tables"),
  ))
    .option("--rows <file>", 'row numbers: JSON {"LAYER": [ROW, …]} or layers.N.row_ids I64')
    .option(
      "--rank <r>",
      "what one rank of tp * dp gives, instead of all gathered",
      integer("--rank", 0),
    )
    .addOption(deviceOption())
    .option("--out <file>", "write the rows: .safetensors, .npy or .jsonl")
    .option("--force", "replace --out where it exists")
    .action(async (place, options) => {
      const context = begin(options);
      const { out, rows, force = false } = options;
      if (out !== undefined) checkTokenOutput(out, force);
      const choice = rankChoice(options, options.rank);
      if (rows !== undefined && (options.text ?? options.ids) !== undefined) {
        throw new EngramError("usage", "Cannot use --rows with --text or --ids: wanted one", {
          hint: "--rows takes row numbers as they are; nothing is hashed",
        });
      }
      using stack = new DisposableStack();
      const checkpoint = stack.adopt(await openCheckpoint(place), (opened) => opened.close());
      for (const warning of checkpoint.warnings) context.printer.warn(warning);
      const wanted = rows === undefined
        ? await openTokenInput(options, checkpoint, context)
        : stack.use(await openRowRequests(rows));
      const layout = "layout" in wanted
        ? wanted.layout
        : choice || options.shards !== undefined
        ? buildLayout(checkpoint.config)
        : null;
      const tables = stack.use(
        await LayerTables.open(checkpoint, layout, choice, readingOf(options)),
      );
      const opened = stack.adopt(
        await openDevice(options.device, context.printer),
        ({ kernels }) => kernels.close(),
      );
      const { layers } = "chunks" in wanted ? checkpoint : wanted;
      await tables.load(layers.map(({ layerId }) => layerId), opened, context);
      const job = { checkpoint, tables, opened, out, force };
      const result = "chunks" in wanted
        ? await lookUpTokens(job, wanted, context)
        : await lookUpRowNumbers(job, wanted, context);
      const cache = tables.cacheCounts;
      noteCache(context.printer, cache);
      context.printer.result({ ...result, cache, out: out ?? null }, () => lookupText(result, out));
    });
}

/** A few rows by number are not worth a table's loading. */
function readingOf<O extends RankOptions & { readonly rows?: string | undefined }>(options: O): O {
  const { rows, backend, gpuMemory } = options;
  const byNumber = rows !== undefined && backend === "auto" && gpuMemory === undefined;
  return byNumber ? { ...options, backend: "file" } : options;
}

function lookupText({ tokens, requests, dead_tokens, layers }: LookupResult, out?: string): string {
  const lines = tokens === null ? [] : [
    `${counted(tokens, "token")} of ${counted(requests!, "request")}, ${count(dead_tokens!)} dead`,
  ];
  lines.push(table(
    ["layer", "rows looked up", "shape", "sha256 of their bf16 values"],
    layers.map((layer) => [
      layer.layer_id,
      count(layer.rows),
      layer.shape.join(" × "),
      layer.sha256,
    ]),
  ));
  if (out !== undefined) lines.push(`written to ${out}`);
  return lines.join("\n");
}
