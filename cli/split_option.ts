import { Option } from "@commander-js/extra-typings";
import { SPLITS } from "../lib/layout/rank_spans.ts";

/** The option `--split` of commands that always split. */
export function splitOption() {
  return new Option("--split <way>", "complete heads in a row, heads dealt round, or plain rows")
    .choices(SPLITS).default("heads" as const);
}
