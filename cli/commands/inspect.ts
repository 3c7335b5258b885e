import { problemError } from "../../lib/checkpoint/checkpoint_files.ts";
import { engramName } from "../../lib/checkpoint/engram_tensors.ts";
import { faultError } from "../../lib/checkpoint/find_layers.ts";
import { type Survey, survey } from "../../lib/verify/survey.ts";
import { begin, command } from "../command.ts";
import { inspectReport } from "../inspect_report.ts";
import { inspectText } from "../inspect_text.ts";
import { READ, REMOTE, writeWith } from "../permissions.ts";
import { openPage, writePage } from "../report/write_page.ts";

/** `engram inspect`: what a checkpoint or any safetensors file holds. */
export function inspectCommand() {
  return command("inspect", {
    summary: "Show what a checkpoint or any safetensors file holds",
    details: "Reads headers and the config only. Where these contradict each other it shows what " +
      "it can and ends with an error.",
    examples: [
      ["inspect DeepSeek-V4.1-Flash", "its Engram layers, the layout they imply, and what is odd"],
      ["inspect model-00047-of-00048.safetensors --all", "every tensor of one file"],
      ["inspect DeepSeek-V4.1-Flash --html layout.html", "the same drawn as a page"],
    ],
    permissions: [READ, writeWith("--html"), REMOTE],
  })
    .argument("<path>", "a folder, a safetensors file, or a config.json")
    .option("--all", "list every tensor, not only those of Engram layers")
    .option("--html <file>", "write a page that draws layers, columns, ranks and files")
    .option("--force", "replace --html where it exists")
    .action(async (path, options) => {
      const { printer } = begin(options);
      using html = options.html === undefined
        ? null
        : openPage(options.html, options.force ?? false);
      const found = await survey(path);
      try {
        const report = inspectReport(found, options.all ?? false);
        if (html) {
          const { layoutPage } = await import("../report/layout_page.ts");
          writePage(html, await layoutPage(found, report));
          printer.note(`page written to ${html.path}`);
        }
        printer.result(report, () => inspectText(report));
        refuseBroken(found);
      } finally {
        found.close();
      }
    });
}

/** Contradictions that no reader could get past; a file that was not fetched yet is none. */
function refuseBroken({ files, configError, layerFaults, layoutFaults }: Survey): void {
  if (configError) throw configError;
  const broken = files.problems.find(({ kind, tensor }) =>
    kind === "duplicate_tensor"
      // Files that were only put into one folder may share names; Engram's tensors may not.
      ? engramName(tensor ?? "") !== null
      : kind !== "unlisted_file" && kind !== "missing_file" && kind !== "total_size"
  );
  if (broken) throw problemError(files, broken);
  const faults = [...layerFaults, ...layoutFaults]
    .filter(({ missing, kind }) => kind !== "mismatch" && !(files.single && missing));
  if (faults.length > 0) throw faultError(files, faults);
}
