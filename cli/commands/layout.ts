import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { begin, command } from "../command.ts";
import { layoutReport, layoutText } from "../layout_report.ts";
import { integer } from "../options.ts";
import { READ, REMOTE } from "../permissions.ts";
import { splitOption } from "../split_option.ts";
import { tokenMapOption } from "../token_map_option.ts";

/** `engram layout`: primes, multipliers and what each rank holds. */
export function layoutCommand() {
  return command("layout", {
    summary: "Show a model's primes, offsets, multipliers and what each rank holds",
    details: "Needs only the config. Every size is exact and in bytes or rows.",
    examples: [
      ["layout DeepSeek-V4.1-Flash --tp 4", "the layout split over four ranks by complete heads"],
      ["layout config.json --tp 8 --split strided --json", "the same as JSON, columns dealt round"],
    ],
    permissions: [READ, REMOTE],
  })
    .argument("<checkpoint>", "a checkpoint, or a config.json")
    .option("--tp <n>", "tensor-parallel ranks", integer("--tp", 1), 1)
    .option(
      "--dp <n>",
      "data-parallel ranks each of them is split over again",
      integer("--dp", 1),
      1,
    )
    .addOption(splitOption())
    .option("--tokenizer <path>", "count the compressed vocabulary with this tokenizer")
    .option("--map <file>", "count it with a saved map")
    .action(async (location, options) => {
      const { printer } = begin(options);
      const checkpoint = await openCheckpoint(location);
      try {
        const map = await tokenMapOption(options);
        const layout = buildLayout(checkpoint.config, map?.compressedVocabSize);
        const { tp, dp, split } = options;
        const report = layoutReport(checkpoint, layout, { tp, dp, split });
        for (const warning of report.warnings) printer.warn(warning);
        printer.result(report, () => layoutText(report));
      } finally {
        checkpoint.close();
      }
    });
}
