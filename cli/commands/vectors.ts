import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { checkOutputFolder } from "../../lib/shards/output_folder.ts";
import { begin, command } from "../command.ts";
import { deviceOption, openDevice } from "../device.ts";
import { NATIVE_TOKENIZER, READ, REMOTE } from "../permissions.ts";
import { table } from "../printer.ts";

/** `engram vectors`: test vectors of a model for other engines. */
export function vectorsCommand() {
  return command("vectors", {
    summary: "Write conformance vectors of a model, for engines to be checked against",
    details: "A folder that explains itself: the token map and its digest, row numbers of texts " +
      "with and without dead tokens, in chunks and with windows, rows, keys, values, gates and " +
      "outputs; manifest.json says what each array is. An engine writes the same arrays, and " +
      "`engram diff` compares them. From a config alone rows and gates are left out.",
    examples: [
      ["vectors DeepSeek-V4.1-Flash --out vectors", "all vectors of a model"],
      ["vectors config.json --tokenizer tokenizer.json --out vectors", "maps and row numbers only"],
    ],
    permissions: [READ, ["--allow-write"], NATIVE_TOKENIZER, REMOTE],
  })
    .argument("<checkpoint>", "a folder, a config.json or a URL")
    .option("--tokenizer <path>", "tokenizer.json or its folder, instead of the checkpoint's own")
    .addOption(deviceOption().default("cpu" as const, "the CPU: it defines what is right"))
    .requiredOption("--out <dir>", "folder to write to, made where it is not there")
    .option("--force", "replace vectors that are there")
    .action(async (place, options) => {
      const { printer } = begin(options);
      const { out, device, force = false } = options;
      using stack = new DisposableStack();
      const checkpoint = stack.adopt(await openCheckpoint(place), (opened) => opened.close());
      checkOutputFolder(checkpoint.source, out, true);
      for (const warning of checkpoint.warnings) printer.warn(warning);
      const path = options.tokenizer ?? checkpoint.tokenizerPath;
      if (path === null) {
        throw new EngramError(
          "unavailable",
          `Cannot find a tokenizer: \`${place}\` has no tokenizer.json beside it`,
          { where: place, hint: "Name the model's tokenizer with --tokenizer PATH" },
        );
      }
      const [{ loadTokenizer }, { buildTokenMap }, { constantsOf }, { writeVectors }] =
        await Promise.all([
          import("../../lib/tokenizer/load_tokenizer.ts"),
          import("../../lib/tokenizer/token_map.ts"),
          import("../../lib/exchange/constants.ts"),
          import("../../lib/exchange/write_vectors.ts"),
        ]);
      const tokenizer = await loadTokenizer(path);
      const constants = constantsOf(checkpoint, buildTokenMap(tokenizer));
      const whole = checkpoint.layers.every((layer) => layer.embed && layer.wkv);
      const kernels = whole
        ? stack.adopt((await openDevice(device, printer)).kernels, (opened) => opened.close())
        : null;
      if (!whole) printer.note("no tensors: rows and gates are left out");
      const files = await writeVectors({ checkpoint, tokenizer, constants, kernels }, out, force);
      const { sha256 } = constants.tokenMap;
      const value = { checkpoint: checkpoint.place, out, token_map_sha256: sha256, files };
      printer.result(value, () =>
        [
          table(["file", "holds"], files.map(({ file, says }) => [file, says.split(/[.:;] /)[0]])),
          `written to ${out}, with manifest.json`,
        ].join("\n"));
    });
}
