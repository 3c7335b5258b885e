import { EngramError } from "../../lib/errors.ts";
import { type Check, notChecked } from "../../lib/verify/check.ts";
import { type Survey, survey } from "../../lib/verify/survey.ts";
import { verifyMap } from "../../lib/verify/verify_map.ts";
import { verifyStructure } from "../../lib/verify/verify_structure.ts";
import { checkContent } from "../check_content.ts";
import { checkOffload, checkShards } from "../check_shards.ts";
import { checkFileSums } from "../check_sums.ts";
import { begin, command } from "../command.ts";
import { integer } from "../options.ts";
import { READ, REMOTE, writeWith } from "../permissions.ts";
import { tokenMapOption, type TokenMapOptions } from "../token_map_option.ts";
import { type VerifyReport, verifyReport, verifyText } from "../verify_report.ts";

/** `engram verify`: checks a checkpoint against itself, its tokenizer and its shards. */
export function verifyCommand() {
  return command("verify", {
    summary: "Check a checkpoint against its config, index, primes, tokenizer and shards",
    details: "Lists every mismatch and ends with exit code 5 when there is one. " +
      "Says what was checked and what was not.",
    examples: [
      ["verify DeepSeek-V4.1-Flash", "config, index, tensors and primes against each other"],
      ["verify DeepSeek-V4.1-Flash --tokenizer tokenizer.json", "the token map as well"],
      ["verify DeepSeek-V4.1-Flash --shards out", "the shards' bytes against the checkpoint's"],
      [
        "verify DeepSeek-V4.1-Flash --deep --resume verify.state --sha256",
        "every byte of the tables, and the files' digests",
      ],
    ],
    permissions: [READ, writeWith("--resume"), REMOTE],
  })
    .argument("<checkpoint>", "a folder, a safetensors file, or a config.json")
    .option(
      "--tokenizer <path>",
      "check the map of this tokenizer; unless given, the checkpoint's own",
    )
    .option("--map <file>", "check a saved map")
    .option("--shards <dir>", "compare the shards in this folder byte by byte with the checkpoint")
    .option("--offload <dir>", "compare the packed rows in this folder with the checkpoint")
    .option("--partial", "only a part was fetched: files without Engram tensors may be missing")
    .option("--deep", "read every byte of the Engram tensors and look at what they hold")
    .option(
      "--sha256 [list]",
      "digest the files and compare with a list as sha256sum writes it, or with the hub's own sums",
    )
    .option("--resume <file>", "with --deep: keep the state in this file, and go on from it")
    .option("--workers <n>", "threads; all cores unless given", integer("--workers", 1, 1024))
    .action(async (location, options) => {
      const context = begin(options);
      const { printer } = context;
      checkResume(options);
      const found = await survey(location);
      try {
        refuseShards(found);
        const checks = verifyStructure(found, options);
        checks.push(await checkMap(found, options));
        checks.push(await checkShards(found, options, context));
        if (options.offload !== undefined) checks.push(await checkOffload(found, options, context));
        const content = options.deep ? await checkContent(found, options, context) : null;
        checks.push(content?.check ?? notChecked("content", "give --deep to read every byte"));
        checks.push(await checkFileSums(found, options, context));
        const warnings = [...found.warnings, ...content?.oddities ?? []];
        const tensors = content?.tensors ?? null;
        const report = verifyReport(location, checks, warnings, tensors);
        printer.result(report, () => verifyText(report, tensors));
        if (!report.ok) throw mismatch(report);
      } finally {
        found.close();
      }
    });
}

/** Only the deep scan takes long enough to go on from somewhere. */
function checkResume({ resume, deep }: { resume?: string; deep?: true }): void {
  if (resume === undefined || deep) return;
  throw new EngramError("usage", "Cannot resume: found --resume without --deep", {
    where: "--resume",
    hint: "Add --deep",
  });
}

/** A folder of shards has each tensor many times; only the checkpoint says what they should be. */
function refuseShards({ files }: Survey): void {
  if (!files.shards || files.single) return;
  throw new EngramError("usage", `Cannot verify \`${files.place}\` alone: it holds rank shards`, {
    where: files.place,
    hint: `Run \`engram verify CHECKPOINT --shards ${files.place}\``,
  });
}

/** Checks the map of the options, else of the checkpoint's own tokenizer. */
async function checkMap({ config, files }: Survey, options: TokenMapOptions): Promise<Check> {
  const tokenizer = options.tokenizer ??
    (options.map === undefined ? files.tokenizerPath ?? undefined : undefined);
  const place = options.map ?? tokenizer;
  if (place === undefined) {
    return notChecked("map", "no tokenizer: give --tokenizer PATH or --map FILE");
  }
  if (config === null) return notChecked("map", "there is no usable config to compare with");
  const map = await tokenMapOption({ tokenizer, map: options.map });
  return map ? verifyMap(config, map, place) : notChecked("map", "no map was given");
}

function mismatch({ path, mismatches }: VerifyReport): EngramError {
  const [first] = mismatches;
  const more = mismatches.length > 1 ? ` (and ${mismatches.length - 1} more mismatches)` : "";
  return new EngramError("mismatch", `Cannot vouch for \`${path}\`: ${first.message}${more}`, {
    where: first.file ?? path,
  });
}
