import { Option } from "@commander-js/extra-typings";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import type { OddValues } from "../../lib/exchange/conversion_errors.ts";
import { convertCheckpoint, type ConvertedLayer } from "../../lib/exchange/convert_checkpoint.ts";
import { TARGETS } from "../../lib/exchange/convert_table.ts";
import { rowLayout } from "../../lib/layout/row_layout.ts";
import { checkOutputFolder } from "../../lib/shards/output_folder.ts";
import { begin, command } from "../command.ts";
import { DISK_SPACE, READ, REMOTE } from "../permissions.ts";
import { table } from "../printer.ts";
import { bytes, count } from "../units.ts";

/** `engram convert`: tables in another encoding. */
export function convertCommand() {
  return command("convert", {
    summary: "Write the Engram layers with their tables in another encoding",
    details:
      "int8: codes with a float32 scale for 32 values (largest magnitude / 127). bf16: plain " +
      "values. packed: fp8 codes and scales of a row side by side; from fp8 nothing is rounded. " +
      "Each value is rounded once, to nearest even, and compared with its source: the largest and " +
      "the root-mean-square difference are told by column. Values that are no finite number are " +
      "told and touch no other value: int8 has no code for NaN and holds 0 there.\n\n" +
      "The folder is a checkpoint of its own that inspect, verify, lookup and eval open. It holds " +
      "the Engram layers only; projection and gate weights are copied.",
    examples: [
      ["convert DeepSeek-V4.1-Flash --to packed --out packed", "one read a row"],
      ["convert DeepSeek-V4.1-Flash --to int8 --out int8 --json", "errors by column as JSON"],
    ],
    permissions: [READ, ["--allow-write"], DISK_SPACE, REMOTE],
  })
    .argument("<checkpoint>", "a folder, a safetensors file, or a URL")
    .addOption(
      new Option("--to <encoding>", "encoding of the tables").choices(TARGETS)
        .makeOptionMandatory(),
    )
    .requiredOption("--out <dir>", "folder to write to, made where it is not there")
    .option("--force", "replace files that exist")
    .action(async (place, options) => {
      const { printer, signal, progress } = begin(options);
      const { to, out, force = false } = options;
      const checkpoint = await openCheckpoint(place);
      try {
        for (const warning of checkpoint.warnings) printer.warn(warning);
        checkOutputFolder(checkpoint.source, out);
        // Columns follow from the primes alone; the compressed size only sets multipliers.
        const { config, layers } = checkpoint;
        const layout = rowLayout(config);
        const bar = progress("converting", layers.reduce((sum, { rows }) => sum + rows, 0), "rows");
        let written: ConvertedLayer[];
        try {
          const onRows = (rows: number) => bar.advance(rows);
          written = await convertCheckpoint(checkpoint, layout, to, out, { force, signal, onRows });
        } finally {
          bar.stop();
        }
        for (const { layerId, errors: { nan, infinite } } of written) {
          for (const [what, odd] of [["NaN", nan], ["infinite", infinite]] as const) {
            if (odd.count > 0) printer.warn(oddText(layerId, what, odd));
          }
        }
        printer.result(convertReport(place, to, out, written), () => convertText(written, out));
      } finally {
        checkpoint.close();
      }
    });
}

function oddText(layerId: number, what: string, { count: many, first }: OddValues): string {
  const shown = first.map(({ row, value }) => `row ${row} value ${value}`).join(", ");
  return `layer ${layerId} has ${count(many)} ${what} values: ${shown}` +
    (many > first.length ? ", …" : "");
}

function convertReport(place: string, to: string, out: string, written: readonly ConvertedLayer[]) {
  return {
    checkpoint: place,
    to,
    out,
    layers: written.map(({ layerId, path, bytes, dtypes, errors }) => ({
      layer_id: layerId,
      path,
      bytes,
      dtypes,
      nan: errors.nan,
      infinite: errors.infinite,
      columns: errors.columns().map(({ column, rows, largest, rms, valueRms }) => ({
        column: column < 0 ? null : column,
        rows,
        largest_error: largest,
        rms_error: rms,
        rms_value: valueRms,
      })),
    })),
  };
}

function convertText(written: readonly ConvertedLayer[], out: string): string {
  const blocks = written.map(({ layerId, path, bytes: size, dtypes, errors }) =>
    [
      `layer ${layerId}: ${dtypes.join(" and ")}, ${bytes(size)}, ${path}`,
      table(
        ["column", "rows", "largest error", "RMS error", "RMS value"],
        errors.columns().map(({ column, rows, largest, rms, valueRms }) => [
          column < 0 ? "padding" : column,
          count(rows),
          largest.toPrecision(4),
          rms.toPrecision(4),
          valueRms.toPrecision(4),
        ]),
      ),
    ].join("\n")
  );
  return [...blocks, `written to ${out}`].join("\n\n");
}
