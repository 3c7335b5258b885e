import { Argument, Option } from "@commander-js/extra-typings";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { EngramError } from "../../lib/errors.ts";
import { BENCH_BACKENDS } from "../bench/backends.ts";
import { exportRecord, FORMATS } from "../bench/export.ts";
import { ID_KINDS } from "../bench/id_streams.ts";
import { readRecord } from "../bench/read_record.ts";
import type { BenchRecord, BenchResult } from "../bench/record.ts";
import type { BenchRequest } from "../bench/request.ts";
import { BENCH_OPTIONS, WORKLOADS } from "../bench/workloads.ts";
import { begin, command } from "../command.ts";
import { integer, list, oneOf, size } from "../options.ts";
import { NATIVE_TOKENIZER, READ } from "../permissions.ts";
import { table } from "../printer.ts";
import { VERSION } from "../version.ts";

const WHAT = [...Object.keys(WORKLOADS), "compare"];

/** `engram bench`: measures one part, or compares two records. */
export function benchCommand() {
  return command("bench", {
    summary: "Measure hashing, lookups and the rest honestly, or compare two runs",
    details: "Medians of repeated samples after a warm-up, with the ceiling of the machine and a " +
      "baseline measured in the same run. What is counted and what is left out is printed with the " +
      "figures. `compare A.json B.json` says whether B is faster or slower than A, or undecided.",
    examples: [
      ["bench hash --tokens 1,256,65536", "hashing, by batch size"],
      ["bench lookup --table 4GiB --backend file,memory --cache warm,cold", "rows from disk"],
      [
        "bench lookup --checkpoint DIR --tokens 8192 --format json --out a.json",
        "keep the samples",
      ],
      ["bench lookup --backend gpu,file --device gpu", "a table kept on the GPU"],
      ["bench kernels --device gpu", "every GPU kernel, by the GPU's own clock"],
      ["bench compare a.json b.json", "which run was faster"],
    ],
    permissions: [
      READ,
      ["--allow-write --allow-sys=statfs,cpus,osRelease,systemMemoryInfo", "except to compare"],
      NATIVE_TOKENIZER,
      ["--allow-ffi", "to map files, and for --cache cold"],
      ["--allow-run=python3", "with --baseline python"],
    ],
  })
    .addArgument(new Argument("<what>", "what to measure").choices(WHAT))
    .argument("[records...]", "for compare: two records written with --format json")
    .option("--checkpoint <path>", "measure on this checkpoint instead of a synthetic table")
    .option("--table <size>", "bytes of a synthetic layer's table", size("--table"), 2 ** 30)
    .option("--tokens <list>", "tokens a batch", list(integer("--tokens", 1)), [1, 16, 256, 8192])
    .option(
      "--ids <list>",
      `kinds of ids: ${ID_KINDS.join(", ")}`,
      list(oneOf("--ids", ID_KINDS)),
      ["random" as const],
    )
    .option("--text <file>", "text for ids of kind text")
    .option("--tokenizer <path>", "tokenizer for the text, or to build the map of")
    .option(
      "--backend <list>",
      `where rows are read: ${BENCH_BACKENDS.join(", ")}; unless given, memory,file for lookup, ` +
        "file for eval, and on a GPU gpu,file",
      list(oneOf("--backend", BENCH_BACKENDS)),
    )
    .option("--cache <list>", "page cache: warm, cold", list(oneOf("--cache", ["warm", "cold"])), [
      "warm" as const,
    ])
    .option(
      "--tp <list>",
      "tensor-parallel ranks: of shards, or lookups by the first of them",
      list(integer("--tp", 1)),
      [1],
    )
    .addOption(
      new Option("--device <device>", "where kernels run").choices(["auto", "gpu", "cpu"]).default(
        "auto" as const,
      ),
    )
    .option(
      "--kernels <list>",
      "for kernels: copy, lookup, hash, gate, projection, chain; or table, 101 GB on the GPU",
      list(String),
    )
    .addOption(
      new Option("--baseline <what>", "also measure numpy through Python").choices(["python"]),
    )
    .option("--samples <n>", "samples of each case", integer("--samples", 1), 15)
    .option("--warmup <n>", "runs before them", integer("--warmup", 0), 3)
    .addOption(
      new Option("--format <format>", "what to print or write").choices(FORMATS).default(
        "table" as const,
      ),
    )
    .option("--out <file>", "write there instead of to stdout")
    .option("--force", "replace an existing --out file")
    .action(async (what, records, options, command) => {
      const { printer, signal } = begin(options);
      if (what === "compare") {
        if (records.length !== 2) {
          throw new EngramError(
            "usage",
            `Cannot compare: found ${records.length} records, wanted 2`,
          );
        }
        const { compare } = await import("../bench/compare.ts");
        const found = compare(readRecord(records[0]), readRecord(records[1]));
        if (!found.length) {
          throw new EngramError("mismatch", "Cannot compare: the records have no case in common");
        }
        const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)}%`;
        return printer.result(
          found,
          () =>
            table(
              ["case", "time", "95% interval", "B is"],
              found.map((c) => [
                c.name,
                percent(c.ratio),
                `${percent(c.interval[0])} … ${percent(c.interval[1])}`,
                c.verdict,
              ]),
            ),
        );
      }
      if (records.length) {
        throw new EngramError(
          "usage",
          `Cannot measure ${what}: it takes no records, found "${records[0]}"`,
        );
      }
      const { run, takes } = WORKLOADS[what];
      const strange = BENCH_OPTIONS.find((option) =>
        !takes.includes(option) && command.getOptionValueSource(option) === "cli"
      );
      if (strange) {
        throw new EngramError(
          "usage",
          `Cannot measure ${what} by --${strange}: it takes ${
            takes.map((option) => `--${option}`).join(", ")
          }`,
        );
      }
      using output = options.out
        ? OutputFile.create(options.out, { force: options.force ?? false })
        : null;
      const scratch = await Deno.makeTempDir({ prefix: "engram-bench-" });
      const results: BenchResult[] = [];
      const started = new Date().toISOString();
      try {
        const request: BenchRequest = {
          ...options,
          checkpoint: options.checkpoint ?? null,
          tableBytes: options.table,
          text: options.text ?? null,
          tokenizer: options.tokenizer ?? null,
          backends: options.backend ?? null,
          kernels: options.kernels ?? [],
          python: options.baseline === "python",
          sampling: { warmup: options.warmup, samples: options.samples, signal },
          scratch,
          note: (text) => printer.note(text),
        };
        for await (const result of run(request)) {
          results.push(result);
          printer.note(`${result.name}: ${result.variant} done`);
        }
      } finally {
        await Deno.remove(scratch, { recursive: true });
      }
      const { thisMachine } = await import("../bench/machine.ts");
      const adapter = results.map(({ parameters }) => parameters.adapter).find((name) => name) ??
        null;
      const record: BenchRecord = {
        format: 1,
        engram: VERSION,
        started,
        commandLine: Deno.args,
        machine: thisMachine(adapter === null ? null : String(adapter)),
        results,
      };
      const format = options.json ? "json" : options.format;
      if (!output) return printer.data(exportRecord(record, format));
      output.write(new TextEncoder().encode(exportRecord(record, options.format)));
      output.commit();
      printer.result(
        { out: output.path, cases: results.length },
        () => `${results.length} cases → ${output.path}`,
      );
    });
}
