import { type ArrayDifference, differs } from "../lib/exchange/compare_arrays.ts";
import type { Diff } from "../lib/exchange/diff.ts";
import { table } from "./printer.ts";
import { count } from "./units.ts";

/** A comparison as `--json` prints it. */
export type DiffReport = ReturnType<typeof diffReport>;

/** What was found, file by file. */
export function diffReport(
  diffs: readonly { file: string; diff: Diff }[],
  missingFiles: readonly string[],
  looked: boolean,
) {
  const files = diffs.map(({ file, diff: { arrays, missing, causes, layerIds } }) => ({
    file,
    arrays: arrays.map((array) => ({
      name: array.name,
      equal: !differs(array),
      expected_shape: array.expectedShape,
      actual_shape: array.actualShape,
      compared: array.compared,
      different: array.different,
      different_tokens: array.differentTokens,
      largest_difference: array.largest,
      first: array.first && {
        ...placeOf(array, layerIds),
        index: array.first,
        expected: array.expected,
        actual: array.actual,
      },
    })),
    not_compared: missing,
    causes,
  }));
  return {
    equal: files.every(({ arrays }) => arrays.every(({ equal }) => equal)),
    files,
    missing_files: missingFiles,
    model: looked,
  };
}

/** Names of an array's dimensions. */
function dimensionsOf(name: string): string[] {
  if (name === "token_map") return ["token_id"];
  if (name === "hash_ids") return ["token", "layer", "column"];
  if (name.endsWith(".rows")) return ["token", "column", "value"];
  if (name.endsWith(".gate")) return ["token", "copy"];
  if (/\.(output|hidden)$/.test(name)) return ["token", "copy", "value"];
  if (/\.engram\.embed/.test(name)) return ["row", "value"];
  return ["token", "value"];
}

/** Where the first difference is, in words: `{token: 3, layer: 1, column: 5}`. */
function placeOf(
  { name, first }: ArrayDifference,
  layerIds: readonly number[] | null,
): Record<string, number> {
  const place: Record<string, number> = {};
  const names = dimensionsOf(name);
  first!.forEach((index, i) => place[names[i] ?? `dimension ${i}`] = index);
  if ("layer" in place && layerIds) place.layer = layerIds[place.layer];
  const layer = /layers\.(\d+)\./.exec(name);
  return layer ? { layer: Number(layer[1]), ...place } : place;
}

/** A comparison for people. */
export function diffText({ equal, files, missing_files, model }: DiffReport): string {
  const blocks: string[] = [];
  for (const { file, arrays, not_compared, causes } of files) {
    const lines = [
      file,
      table(
        ["array", "values", "differ", "tokens", "first difference"],
        arrays.map(({ name, compared, different, different_tokens, first, ...shapes }) => [
          name,
          count(compared),
          count(different),
          count(different_tokens),
          first
            ? `${placeText(first)}: ${first.actual}, wanted ${first.expected}`
            : shapes.equal
            ? "none"
            : `shape [${shapes.actual_shape}], wanted [${shapes.expected_shape}]`,
        ]),
      ),
    ];
    if (not_compared.length > 0) lines.push(`not in the dump: ${not_compared.join(", ")}`);
    for (const { cause, arrays } of causes) {
      lines.push(`likely cause: ${cause} (${arrays.join(", ")})`);
    }
    if (causes.length === 0 && arrays.some(({ equal }) => !equal)) {
      lines.push(
        model
          ? "no known mistake gives these values"
          : "to look for the cause, give the model with --checkpoint",
      );
    }
    blocks.push(lines.join("\n"));
  }
  if (missing_files.length > 0) blocks.push(`files not there: ${missing_files.join(", ")}`);
  blocks.push(equal ? "all that was compared is equal" : "the dump differs");
  return blocks.join("\n\n");
}

function placeText(first: object): string {
  return Object.entries(first).filter(([key]) => !["index", "expected", "actual"].includes(key))
    .map(([key, value]) => `${key} ${value}`).join(", ");
}
