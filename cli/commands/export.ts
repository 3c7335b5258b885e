import { Option } from "@commander-js/extra-typings";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import type { Constants } from "../../lib/exchange/constants.ts";
import { begin, command } from "../command.ts";
import { DISK_SPACE, READ, REMOTE } from "../permissions.ts";
import { tokenMapOption } from "../token_map_option.ts";
import { bytes, count } from "../units.ts";

const FORMATS = ["json", "safetensors", "gguf"] as const;

/** `engram export`: the constants another engine or converter needs. */
export function exportCommand() {
  return command("export", {
    summary: "Write a model's Engram constants for converters: JSON, safetensors or GGUF",
    details: "Layer ids, primes, offsets, multipliers (exact int64), the token map and its " +
      "digest, pad ids and sizes. In JSON multipliers are decimal strings; in GGUF everything " +
      "stands under deepseek41.engram.*. The safetensors file also serves as a --map.",
    examples: [
      [
        "export DeepSeek-V4.1-Flash --format gguf --out engram.gguf",
        "metadata to merge into a GGUF",
      ],
      [
        "export config.json --tokenizer tokenizer.json --format json --out engram.json",
        "needs no tensors",
      ],
    ],
    permissions: [READ, ["--allow-write"], DISK_SPACE, REMOTE],
  })
    .argument("<checkpoint>", "a folder, a safetensors file, a config.json or a URL")
    .option("--tokenizer <path>", "tokenizer.json or its folder, instead of the checkpoint's own")
    .option("--map <file>", "a token map saved by `engram map --out`, instead of building it")
    .addOption(
      new Option("--format <name>", "format of the file").choices(FORMATS)
        .makeOptionMandatory(),
    )
    .requiredOption("--out <file>", "the file to write")
    .option("--force", "replace the file if it exists")
    .action(async (place, options) => {
      const { printer } = begin(options);
      const { out, format, force = false } = options;
      OutputFile.create(out, { force }).abort();
      const checkpoint = await openCheckpoint(place);
      try {
        for (const warning of checkpoint.warnings) printer.warn(warning);
        const beside = options.map === undefined
          ? checkpoint.tokenizerPath ?? undefined
          : undefined;
        const map = await tokenMapOption({ ...options, tokenizer: options.tokenizer ?? beside });
        if (map === null) {
          throw new EngramError(
            "unavailable",
            `Cannot find a tokenizer: \`${place}\` has no tokenizer.json beside it`,
            { where: place, hint: "Name the model's tokenizer with --tokenizer PATH" },
          );
        }
        const { constantsOf } = await import("../../lib/exchange/constants.ts");
        const constants = constantsOf(checkpoint, map);
        const size = await write(constants, format, out, force);
        const { layout } = constants;
        printer.result({
          checkpoint: checkpoint.place,
          format,
          layer_ids: layout.layers.map(({ layerId }) => layerId),
          columns: layout.columns,
          tokens: map.map.length,
          compressed_vocab_size: layout.compressedVocabSize,
          token_map_sha256: map.sha256,
          encoding: constants.encoding,
          bytes: size,
          out,
        }, () =>
          [
            `layers ${layout.layers.map(({ layerId }) => layerId).join(", ")} × ` +
            `${layout.columns} columns, map of ${count(map.map.length)} tokens to ` +
            `${count(layout.compressedVocabSize)}, rows ${constants.encoding}`,
            `written to ${out} (${bytes(size)})`,
          ].join("\n"));
      } finally {
        checkpoint.close();
      }
    });
}

async function write(
  constants: Constants,
  format: (typeof FORMATS)[number],
  out: string,
  force: boolean,
): Promise<number> {
  if (format === "safetensors") {
    const [{ constantsTensors }, { writeSafetensors }] = await Promise.all([
      import("../../lib/exchange/constants_tensors.ts"),
      import("../../lib/safetensors/writer.ts"),
    ]);
    const { entries, metadata } = constantsTensors(constants);
    return await writeSafetensors(out, entries, { metadata, force });
  }
  const content = format === "json"
    ? new TextEncoder().encode(
      (await import("../../lib/exchange/constants_json.ts")).constantsJson(constants),
    )
    : (await import("../../lib/exchange/constants_gguf.ts")).constantsGguf(constants);
  using file = OutputFile.create(out, { force, size: content.length });
  file.write(content);
  file.commit();
  return content.length;
}
