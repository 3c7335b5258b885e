import { Option } from "@commander-js/extra-typings";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import type { Diff, DiffModel } from "../../lib/exchange/diff.ts";
import type { RankOfSplit } from "../../lib/exchange/rank_row_mistakes.ts";
import { begin, command } from "../command.ts";
import { diffReport, diffText } from "../diff_report.ts";
import { diffPlaces } from "../diff_places.ts";
import { EXIT_CODES, ExitWith } from "../failure.ts";
import { integer } from "../options.ts";
import { READ, REMOTE } from "../permissions.ts";

/** `engram diff`: an engine's dump against ours. */
export function diffCommand() {
  return command("diff", {
    summary: "Compare an engine's dump with ours, and name the mistake that explains it",
    details:
      "EXPECTED is what engram wrote: hash, lookup, eval, map, shard or vectors; ACTUAL is the " +
      "engine's: safetensors with the same names, a .npy array, or JSON. Two folders are compared " +
      "file by file. Row numbers, maps, rows and shards must be equal; gates, keys, values and " +
      "outputs within --tolerance. Tells the first difference by token, layer and column, and how " +
      "many there are; with --checkpoint (or vectors) every known mistake is made on the tokens " +
      "around it, and those that give what ACTUAL has are named.\n\n" +
      "Exit 0 where nothing differs, 5 where something does.",
    examples: [
      ["diff ours.safetensors theirs.npy --checkpoint MODEL", "row numbers of an engine"],
      ["diff vectors/ dump/ --checkpoint MODEL --json", "every file of the conformance vectors"],
    ],
    permissions: [READ, REMOTE],
  })
    .argument("<expected>", "file or folder that engram wrote")
    .argument("<actual>", "file or folder that the engine wrote")
    .option("--checkpoint <path>", "the model, or its config.json, to look for the cause by")
    .option("--tokenizer <path>", "tokenizer.json or its folder, instead of the checkpoint's own")
    .option("--map <file>", "a token map saved by `engram map --out`, instead of building it")
    .option("--tolerance <x>", "difference allowed, relative to a token's largest", tolerance, 0.01)
    .option("--tp <n>", "the dumps hold one rank's rows, of this many", integer("--tp", 1))
    .option("--dp <n>", "data-parallel ranks of each", integer("--dp", 1), 1)
    .option("--rank <n>", "which rank (tp rank * dp + dp rank)", integer("--rank", 0))
    .addOption(
      new Option("--split <way>", "complete heads in a row, or heads dealt round")
        .choices(["heads", "strided"] as const).default("heads" as const),
    )
    .action(async (expected, actual, options) => {
      const { printer, signal } = begin(options);
      const rank = rankOf(options);
      using stack = new DisposableStack();
      const places = diffPlaces(expected, actual);
      const model = await openModel(expected, options, stack);
      const [{ diffDumps }, { openDump }] = await Promise.all([
        import("../../lib/exchange/diff.ts"),
        import("../../lib/exchange/dump.ts"),
      ]);
      const diffs: { file: string; diff: Diff }[] = [];
      for (const { file, expected, actual } of places.pairs) {
        using dumps = new DisposableStack();
        const open = async (path: string) =>
          dumps.adopt(await openDump(path), (dump) => dump.close());
        const how = { model, tolerance: options.tolerance, signal, ...(rank && { rank }) };
        diffs.push({ file, diff: await diffDumps(await open(expected), await open(actual), how) });
      }
      const report = diffReport(diffs, places.missing, model !== null);
      printer.result(report, () => diffText(report));
      if (!report.equal) throw new ExitWith(EXIT_CODES.mismatch);
    });
}

interface RankOptions {
  readonly tp?: number;
  readonly dp: number;
  readonly rank?: number;
  readonly split: "heads" | "strided";
}

/** The rank whose rows are compared; null where they are those of all columns. */
function rankOf({ tp, dp, rank, split }: RankOptions): RankOfSplit | null {
  if (tp === undefined && rank === undefined) return null;
  if (tp !== undefined && rank !== undefined && rank < tp * dp) return { tp, dp, rank, split };
  throw new EngramError(
    "usage",
    `Cannot tell the rank: found --tp ${tp ?? "none"} and --rank ${rank ?? "none"}, ` +
      "wanted both, the rank below tp × dp",
    { where: "--rank" },
  );
}

interface ModelOptions {
  readonly checkpoint?: string;
  readonly tokenizer?: string;
  readonly map?: string;
}

/** The model named, or the one that vectors carry beside them; null without either. */
async function openModel(
  expected: string,
  options: ModelOptions,
  stack: DisposableStack,
): Promise<DiffModel | null> {
  const { checkpoint: place, map } = options;
  const { vectorsModel } = await import("../../lib/exchange/vectors_model.ts");
  const beside = vectorsModel(expected);
  const location = place ?? beside?.config;
  if (location === undefined) return null;
  const [{ constantsOf }, { tokenMapOption }] = await Promise.all([
    import("../../lib/exchange/constants.ts"),
    import("../token_map_option.ts"),
  ]);
  const checkpoint = stack.adopt(await openCheckpoint(location), (opened) => opened.close());
  const path = options.tokenizer ?? checkpoint.tokenizerPath;
  const tokenizer = path === null
    ? null
    : await (await import("../../lib/tokenizer/load_tokenizer.ts")).loadTokenizer(path);
  const saved = map ?? (tokenizer ? undefined : beside?.map);
  const tokenMap = saved === undefined && tokenizer
    ? (await import("../../lib/tokenizer/token_map.ts")).buildTokenMap(tokenizer)
    : await tokenMapOption({ map: saved });
  if (tokenMap === null) {
    throw new EngramError(
      "unavailable",
      `Cannot look for causes: \`${location}\` has no tokenizer.json beside it`,
      { where: location, hint: "Give --tokenizer PATH or --map FILE" },
    );
  }
  return { constants: constantsOf(checkpoint, tokenMap), checkpoint, tokenizer };
}

function tolerance(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value < Infinity) return value;
  throw new EngramError("usage", `Cannot read --tolerance: found "${text}", wanted 0 or more`, {
    where: "--tolerance",
  });
}
