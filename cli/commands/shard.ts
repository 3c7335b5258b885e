import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { rowLayout } from "../../lib/layout/row_layout.ts";
import { planShards } from "../../lib/shards/shard_plan.ts";
import { checkOutputFolder } from "../../lib/shards/output_folder.ts";
import { sourceIdentities } from "../../lib/shards/source_identity.ts";
import { writeShards } from "../../lib/shards/write_shards.ts";
import { EngramError } from "../../lib/errors.ts";
import { begin, command } from "../command.ts";
import { integer } from "../options.ts";
import { DISK_SPACE, READ, REMOTE, SYSTEM_COPY } from "../permissions.ts";
import { shardReport, shardText } from "../shard_report.ts";
import { splitOption } from "../split_option.ts";

/** `engram shard`: splits a checkpoint's tables over ranks, one safetensors file a rank. */
export function shardCommand() {
  return command("shard", {
    summary: "Split the tables over tensor-parallel ranks, one safetensors file a rank",
    details:
      "Each file holds its rank's rows (codes and scales) under the checkpoint's own tensor " +
      "names, the whole projection and gate, and metadata that says what it holds and of which " +
      "checkpoint. A run that was cut short is finished by the same command; one that was not is " +
      "verified byte by byte and left alone.",
    examples: [
      ["shard DeepSeek-V4.1-Flash --tp 4 --out shards", "four files, complete heads in a row"],
      ["shard DeepSeek-V4.1-Flash --tp 8 --rank 3 --out shards", "one rank's file alone"],
      ["shard DeepSeek-V4.1-Flash --tp 8 --split strided --out shards --dry-run", "only the plan"],
    ],
    permissions: [READ, ["--allow-write"], DISK_SPACE, SYSTEM_COPY, REMOTE],
  })
    .argument("<checkpoint>", "a folder, a safetensors file, or a URL")
    .requiredOption("--tp <n>", "tensor-parallel ranks", integer("--tp", 1))
    .option(
      "--dp <n>",
      "data-parallel ranks each of them is split over again",
      integer("--dp", 1),
      1,
    )
    .option("--rank <n>", "write only this shard (tp rank * dp + dp rank)", integer("--rank", 0))
    .addOption(splitOption())
    .requiredOption("--out <dir>", "folder to write to, made where it is not there")
    .option("--dry-run", "print what would be written, and write nothing")
    .option("--force", "replace shards that differ")
    .action(async (location, options) => {
      const { printer, signal, progress } = begin(options);
      const { tp, dp, split, rank, out, dryRun } = options;
      if (rank !== undefined && rank >= tp * dp) {
        throw new EngramError(
          "usage",
          `Cannot write rank ${rank}: wanted one from 0 to ${tp * dp - 1} (tp ${tp} × dp ${dp})`,
          { where: "--rank" },
        );
      }
      const checkpoint = await openCheckpoint(location);
      try {
        checkOutputFolder(checkpoint.source, out);
        const layout = rowLayout(checkpoint.config);
        const all = planShards(
          checkpoint,
          layout,
          { tp, dp, split },
          await sourceIdentities(checkpoint),
        );
        const plans = rank === undefined ? all : [all[rank]];
        const bytes = plans.reduce((sum, plan) => sum + plan.file.size, 0);
        const bar = progress("sharding", bytes, "bytes");
        try {
          const written = dryRun ? null : await writeShards(plans, out, {
            force: options.force ?? false,
            signal,
            onBytes: (count) => bar.advance(count),
          });
          const report = shardReport(layout, { tp, dp, split, out }, plans, written);
          printer.result(report, () => shardText(report));
        } finally {
          bar.stop();
        }
      } finally {
        checkpoint.close();
      }
    });
}
