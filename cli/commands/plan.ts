import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { rowLayout } from "../../lib/layout/row_layout.ts";
import { placements, tableSizes } from "../../lib/plan/placements.ts";
import { begin, command } from "../command.ts";
import { integer, size } from "../options.ts";
import { NATIVE_TOKENIZER, READ, REMOTE, writeWith } from "../permissions.ts";
import { planReport, planText } from "../plan_report.ts";
import { planTraffic } from "../plan_traffic.ts";
import { splitOption } from "../split_option.ts";
import { openTokenInput } from "../token_input.ts";
import { withTokenOptions } from "../token_options.ts";

/** `engram plan`: where tables fit, and what a text asks of them. */
export function planCommand() {
  return withTokenOptions(
    command("plan", {
      summary: "Show where the tables fit, what each rank reads and how well a cache would do",
      details:
        "Sizes are exact. With tokens, rows are counted as they are asked for (requests), as they " +
        "are read when a batch reads each row once (reads), and as different rows of the whole " +
        "text; hit rates are those of a cache of rows that drops the one used longest ago, all " +
        "sizes from one pass. Nothing of a table is read.",
      examples: [
        ["plan MODEL --tp 8 --gpu-memory 80GB --ram 512GB", "which placements fit eight GPUs"],
        [
          "plan MODEL --tp 4 --gpu-memory 24GB --ram 64GB --text corpus/ --svg hits.svg",
          "with a text: balance of the ranks, and hit rates as a picture",
        ],
      ],
      permissions: [READ, writeWith("--svg"), NATIVE_TOKENIZER, REMOTE],
    }).argument("<checkpoint>", "a checkpoint, or a config.json"),
  )
    .requiredOption("--tp <n>", "tensor-parallel ranks, one GPU each", integer("--tp", 1))
    .option("--dp <n>", "data-parallel groups of them", integer("--dp", 1), 1)
    .option("--hosts <n>", "hosts the ranks are spread over evenly", integer("--hosts", 1), 1)
    .requiredOption("--gpu-memory <size>", "memory of a GPU for Engram", size("--gpu-memory"))
    .requiredOption("--ram <size>", "memory of a host for Engram", size("--ram"))
    .option(
      "--shm <size>",
      "shared memory of a host; half of --ram unless given, as Linux mounts /dev/shm",
      size("--shm"),
    )
    .option("--batch <tokens>", "tokens of a batch", integer("--batch", 1, 2 ** 20), 8192)
    .addOption(splitOption())
    .option("--svg <file>", "draw the hit rates, with --text or --ids")
    .option("--force", "replace --svg where it exists")
    .action(async (place, options) => {
      const context = begin(options);
      const { printer } = context;
      const { tp, dp, hosts, gpuMemory, ram, split, batch, svg, force = false } = options;
      const hasTokens = options.text !== undefined || options.ids !== undefined;
      if (svg !== undefined && !hasTokens) {
        throw new EngramError(
          "usage",
          "Cannot draw hit rates without tokens: wanted --text or --ids",
          {
            where: "--svg",
          },
        );
      }
      const checkpoint = await openCheckpoint(place);
      try {
        const input = hasTokens ? await openTokenInput(options, checkpoint, context) : null;
        // Sizes follow from the primes alone; the compressed size only sets multipliers.
        const layout = input?.layout ??
          rowLayout(checkpoint.config);
        const machines = {
          tp,
          dp,
          hosts,
          gpuMemory,
          ram,
          shm: options.shm ?? Math.floor(ram / 2),
          batchTokens: batch,
          split,
        };
        const sizes = tableSizes(checkpoint, layout);
        const places = placements(sizes, layout, machines);
        const traffic = input && await planTraffic(input, machines, context);
        const report = planReport(checkpoint.place, machines, sizes, places, traffic);
        if (svg !== undefined) {
          const { writeHitRates } = await import("../plot_hit_rates.ts");
          await writeHitRates(svg, report, force);
        }
        printer.result({ ...report, svg: svg ?? null }, () => planText(report));
      } finally {
        checkpoint.close();
      }
    });
}
