import type { Check } from "../lib/verify/check.ts";
import type { TensorReport } from "../lib/verify/content_report.ts";
import { contentJson, contentText } from "./content_text.ts";
import { printable, table } from "./printer.ts";

/** What `engram verify --json` prints. */
export type VerifyReport = ReturnType<typeof verifyReport>;

/** The checks' outcome, with one sentence that says how far the checkpoint can be trusted. */
export function verifyReport(
  path: string,
  checks: readonly Check[],
  warnings: readonly string[],
  content: readonly TensorReport[] | null,
) {
  const mismatches = checks.flatMap((check) => check.mismatches);
  return {
    path,
    ok: mismatches.length === 0,
    summary: summary(checks),
    checks: checks.map(({ check, status, detail, mismatches }) => ({
      check,
      status,
      detail,
      mismatches: mismatches.length,
    })),
    mismatches,
    warnings,
    ...(content ? { content: contentJson(content) } : {}),
  };
}

/** Checks that look at names, sizes and numbers only. */
const STRUCTURE = ["files", "index", "config", "tensors", "layout"];

function summary(checks: readonly Check[]): string {
  const structure = checks.filter(({ check }) => STRUCTURE.includes(check));
  const parts = [`structure ${outcome(structure)}`];
  for (const check of checks.filter(({ check }) => !STRUCTURE.includes(check))) {
    parts.push(`${check.check} ${outcome([check])}`);
  }
  return parts.join(", ");
}

function outcome(checks: readonly Check[]): string {
  const statuses = checks.map(({ status }) => status);
  if (statuses.includes("mismatch")) return "does not agree";
  return statuses.includes("ok") ? "ok" : "not checked";
}

/** What `engram verify` prints for people. */
export function verifyText(
  report: VerifyReport,
  content: readonly TensorReport[] | null,
): string {
  const blocks = [
    ...(content ? [contentText(content), ""] : []),
    table(
      ["check", "outcome", "what"],
      report.checks.map(({ check, status, detail, mismatches }) => [
        check,
        status === "ok" ? "ok" : status === "not_checked" ? "not checked" : count(mismatches),
        detail,
      ]),
    ),
    ...some(report.mismatches.map(({ check, message }) => `mismatch (${check}): ${message}`)),
    ...some(report.warnings.map((warning) => `odd: ${warning}`)),
    report.summary,
  ];
  return blocks.join("\n");
}

/** More lines than this help nobody; `--json` has them all. */
const MOST_LINES = 200;

function some(lines: readonly string[]): string[] {
  const shown = lines.slice(0, MOST_LINES).map(printable);
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more: --json lists them all`] : shown;
}

function count(mismatches: number): string {
  return `${mismatches} mismatch${mismatches === 1 ? "" : "es"}`;
}
