import {
  type Command,
  type CommandUnknownOpts,
  Option,
  type OptionValues,
} from "@commander-js/extra-typings";
import { EngramError } from "../lib/errors.ts";
import { type RankSplit, type Split, SPLITS } from "../lib/layout/rank_spans.ts";
import { integer, size } from "./options.ts";
import { ROW_BACKENDS, type RowBackend } from "./row_backends.ts";
import { AUTO_BYTES } from "./table_placement.ts";
import { bytes } from "./units.ts";

/** More ranks than any cluster. */
const MOST_RANKS = 65_536;

/** Past some dozens of reads at once no disk gets faster. */
const MOST_READERS = 64;

/** For a command's help: what `--backend` says. */
export const BACKENDS =
  "gpu holds them in the GPU's memory, where rows are looked up and decoded; " +
  "memory in the host's; mapped leaves them in the page cache; file reads rows by position, with " +
  "several threads. From the last three, a GPU gets each row once a batch, as it is stored. auto is " +
  `gpu for tables of local files, in order, while they take at most ${
    bytes(AUTO_BYTES)
  } together ` +
  "(--gpu-memory says another bound), and file for the others, with --cache, and for lookup --rows.";

/** The options by which a command is told how tables are split; see {@linkcode withRankOptions}. */
export type RankOptions = {
  readonly tp?: number | undefined;
  readonly dp?: number | undefined;
  readonly split?: Split | undefined;
  readonly shards?: string | undefined;
  readonly offload?: string | undefined;
  readonly cache?: number | undefined;
  readonly readers?: number | undefined;
  readonly backend?: RowBackend | "auto" | undefined;
  readonly gpuMemory?: number | undefined;
};

/**
 * Adds the options of {@linkcode RankOptions} to a command. Their types are stated, not inferred:
 * a chain of inferred options this long takes the compiler minutes.
 */
export function withRankOptions<
  A extends unknown[],
  O extends OptionValues,
  G extends OptionValues,
>(command: Command<A, O, G>): Command<A, O & RankOptions, G> {
  (command as unknown as CommandUnknownOpts)
    .option("--tp <n>", "look up as so many tensor-parallel ranks", integer("--tp", 1, MOST_RANKS))
    .option(
      "--dp <n>",
      "data-parallel ranks each of them is split over again",
      integer("--dp", 1, MOST_RANKS),
    )
    .addOption(
      new Option("--split <way>", "complete heads in a row (as if not given), dealt round, or rows")
        .choices(SPLITS),
    )
    .option("--shards <dir>", "read tables from the shards that `engram shard` wrote")
    .option("--offload <dir>", "read tables from the packed rows that `engram offload` wrote")
    .option("--cache <size>", "keep the rows asked for often in this much memory", size("--cache"))
    .option(
      "--readers <n>",
      "threads that read the rows of local files; as many as cores unless given",
      integer("--readers", 1, MOST_READERS),
    )
    .addOption(
      new Option("--backend <where>", "where tables are kept, or rows read, see above")
        .choices(["auto", ...ROW_BACKENDS]).default("auto"),
    )
    .option(
      "--gpu-memory <size>",
      "keep no more of the tables on the GPU; with --backend auto or gpu",
      size("--gpu-memory"),
    );
  return command as unknown as Command<A, O & RankOptions, G>;
}

/** What the options ask for; with shards, which say it themselves, perhaps only in part. */
export interface RankRequest extends Partial<RankSplit> {
  /** The one rank that is wanted. */
  readonly rank?: number;
}

/** The split that the options ask for; null without any. */
export function rankChoice(
  { tp, dp, split, shards }: RankOptions,
  rank?: number,
): RankRequest | null {
  const given = { tp, dp, split, rank };
  const [first] = Object.entries(given).filter(([, value]) => value !== undefined);
  if (!first) return null;
  if (tp === undefined && shards === undefined) {
    throw new EngramError(
      "usage",
      `Cannot use --${first[0]} without --tp: wanted the number of ranks`,
    );
  }
  return {
    ...(tp !== undefined && { tp }),
    ...(dp !== undefined && { dp }),
    ...(split !== undefined && { split }),
    ...(rank !== undefined && { rank }),
  };
}
