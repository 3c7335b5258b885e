import { Option } from "@commander-js/extra-typings";
import { makeFolder } from "../../lib/bytes/make_folder.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { SPLITS } from "../../lib/layout/rank_spans.ts";
import { rowLayout } from "../../lib/layout/row_layout.ts";
import { type OffloadRank, planOffload } from "../../lib/offload/plan_offload.ts";
import { openOffload } from "../../lib/offload/open_offload.ts";
import { unpackOffload } from "../../lib/offload/unpack_offload.ts";
import { writeOffload } from "../../lib/offload/write_offload.ts";
import { checkOutputFolder } from "../../lib/shards/output_folder.ts";
import { sourceIdentities } from "../../lib/shards/source_identity.ts";
import { begin, command, type Context } from "../command.ts";
import { integer } from "../options.ts";
import { DISK_SPACE, READ, REMOTE, SYSTEM_COPY } from "../permissions.ts";
import { table } from "../printer.ts";
import { bytes, count } from "../units.ts";

/** `engram offload`: packs rows so that each is one read. */
export function offloadCommand() {
  return command("offload", {
    summary: "Pack each row's codes and scales side by side, so that a row is one read",
    details:
      "Writes one file a layer, a manifest with the source's identity, and a finished marker " +
      "last. `lookup` and `eval` read rows from the folder with --offload, `verify` checks it, and " +
      "--unpack gives the source's tensors back. A run that was cut short is finished by the same " +
      "command.",
    examples: [
      ["offload DeepSeek-V4.1-Flash --out packed", "both tables, 264 bytes a row"],
      ["offload DeepSeek-V4.1-Flash --tp 4 --rank 1 --out packed-1", "one rank's rows"],
      ["offload packed --unpack --out unpacked", "back to embed.weight and embed.scale"],
    ],
    permissions: [READ, ["--allow-write"], DISK_SPACE, SYSTEM_COPY, REMOTE],
  })
    .argument("<checkpoint>", "a checkpoint, or with --unpack a folder of packed rows")
    .requiredOption("--out <dir>", "folder to write to, made where it is not there")
    .option("--tp <n>", "tensor-parallel ranks, with --rank", integer("--tp", 1))
    .option("--dp <n>", "data-parallel ranks each is split over again", integer("--dp", 1))
    .option("--rank <n>", "pack only this rank's rows", integer("--rank", 0))
    .addOption(
      new Option("--split <way>", "how rows go to ranks (heads unless given)").choices(SPLITS),
    )
    .option("--unpack", "write packed rows back as the tensors they came from")
    .option("--force", "replace files that differ")
    .action(async (place, options) => {
      const context = begin(options);
      if (options.unpack) await unpack(place, options, context);
      else await pack(place, options, context);
    });
}

interface Options {
  readonly out: string;
  readonly tp?: number | undefined;
  readonly dp?: number | undefined;
  readonly rank?: number | undefined;
  readonly split?: typeof SPLITS[number] | undefined;
  readonly force?: true | undefined;
}

async function pack(place: string, options: Options, { printer, signal, progress }: Context) {
  const rank = rankOf(options);
  const checkpoint = await openCheckpoint(place);
  try {
    checkOutputFolder(checkpoint.source, options.out);
    const layout = rowLayout(checkpoint.config);
    const plan = planOffload(checkpoint, layout, rank, await sourceIdentities(checkpoint));
    const total = plan.layers.reduce((sum, { file }) => sum + file.size, 0);
    const bar = progress("packing", total, "bytes");
    try {
      const written = await writeOffload(plan, options.out, {
        force: options.force ?? false,
        signal,
        onBytes: (n) => bar.advance(n),
      });
      const layers = plan.manifest.layers.map((layer, i) => ({
        ...layer,
        state: written[i].state,
      }));
      printer.result({ out: options.out, bytes: total, rank, layers }, () =>
        [
          table(
            ["layer", "rows", "record", "size", "state", "file"],
            layers.map((layer) => [
              layer.layer_id,
              count(layer.rows),
              `${layer.record_bytes} B`,
              bytes(layer.size),
              layer.state,
              layer.file,
            ]),
          ),
          "",
          `${bytes(total)} in ${options.out}`,
        ].join("\n"));
    } finally {
      bar.stop();
    }
  } finally {
    checkpoint.close();
  }
}

async function unpack(place: string, options: Options, { printer, signal, progress }: Context) {
  const offload = await openOffload(place);
  try {
    const total = offload.manifest.layers.reduce((sum, { size }) => sum + size, 0);
    const bar = progress("unpacking", total, "bytes");
    makeFolder(options.out);
    try {
      const files = await unpackOffload(offload, options.out, {
        force: options.force ?? false,
        signal,
        onBytes: (n) => bar.advance(n),
      });
      printer.result({ out: options.out, files }, () => files.join("\n"));
    } finally {
      bar.stop();
    }
  } finally {
    offload.close();
  }
}

function rankOf({ tp, dp = 1, rank, split = "heads" }: Options): OffloadRank | null {
  if (tp === undefined && rank === undefined) return null;
  if (tp !== undefined && rank !== undefined && rank < tp * dp) return { tp, dp, rank, split };
  const found = tp === undefined ? "no --tp" : rank === undefined ? "no --rank" : `rank ${rank}`;
  throw new EngramError(
    "usage",
    `Cannot pack one rank's rows: found ${found}, wanted --tp with a --rank below tp × dp`,
    { where: "--rank", hint: "Leave both out to pack the whole tables" },
  );
}
