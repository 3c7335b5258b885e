import assert from "node:assert/strict";
import { exportRecord } from "../../../cli/bench/export.ts";
import type { BenchRecord, BenchResult } from "../../../cli/bench/record.ts";
import { baselineOf, speedup } from "../../../cli/bench/summary.ts";
import { goldenPath } from "../../golden/golden_data.ts";
import { cli } from "../../run_cli.ts";

function result(role: BenchResult["role"], samples: number[], extra: Partial<BenchResult> = {}) {
  return {
    name: role === "ceiling" ? "read" : "lookup",
    variant: role,
    role,
    parameters: role === "ceiling" ? { of: "memory" } : { tokens: 8, of: "memory" },
    work: { tokens: 8, rows: 192, distinctRows: 100, bytes: 1e6 },
    counted: "row bytes",
    excluded: 'opening, with "quotes"',
    samples,
    gpuSamples: null,
    warnings: [],
    ...extra,
  } satisfies BenchResult;
}

const RECORD: BenchRecord = {
  format: 1,
  engram: "0.0.0",
  started: "2026-01-01T00:00:00Z",
  commandLine: ["bench", "lookup"],
  machine: {
    os: "linux",
    arch: "x86_64",
    cpu: "A, B",
    cores: 2,
    memory: 1,
    adapter: null,
    deno: "2",
  },
  results: [
    result("ceiling", [0.0005, 0.0005, 0.0005]),
    result("baseline", [0.004, 0.004, 0.004]),
    result("case", [0.001, 0.001, 0.002], { warnings: ["the ids repeat"] }),
  ],
};

Deno.test("rates, the share of the ceiling and the ratio to the baseline are the medians'", () => {
  const line = exportRecord(RECORD, "markdown").split("\n").find((row) =>
    row.includes("lookup: case")
  )!;
  const cells = line.split("|").map((cell) => cell.trim());
  // 1 MB in 1 ms is 1 GB/s, half of the ceiling's 2 GB/s; four times the baseline.
  assert.deepEqual(cells.slice(2, -1), [
    "1.0 ms",
    "0%",
    "–",
    "8.00 k",
    "192 k",
    "1.00 G",
    "50%",
    "4.00×",
  ]);
});

Deno.test("table and Markdown state what is counted, what is left out, and every warning", () => {
  for (const format of ["table", "markdown"] as const) {
    const text = exportRecord(RECORD, format);
    assert.match(text, /counted row bytes; not in the time: opening/);
    assert.match(text, /warning: the ids repeat/);
  }
});

Deno.test("JSON keeps every raw sample", () => {
  assert.deepEqual(JSON.parse(exportRecord(RECORD, "json")), RECORD);
});

Deno.test("CSV has one line a sample", () => {
  const lines = exportRecord(RECORD, "csv").trim().split("\n");
  assert.equal(lines.length, 1 + 9);
  assert.equal(lines[9], "lookup,case,case,tokens=8;of=memory,8,192,100,1000000,2,0.002,");
});

Deno.test("a case is held against the baseline of its own sweep values, or one that has none", () => {
  const of = (role: BenchResult["role"], parameters: BenchResult["parameters"]): BenchResult => ({
    ...RECORD.results[0],
    name: "lookup",
    role,
    parameters,
  });
  for (const key of ["tokens", "ids", "cache", "tp"]) {
    const all = [1, 2, 3].map((value) => of("baseline", { [key]: value }));
    assert.equal(baselineOf(of("case", { [key]: 2, of: "memory" }), all), all[1]);
    assert.equal(baselineOf(of("case", { [key]: 4 }), all), undefined);
  }
  const whole = of("baseline", { adapter: "x" });
  assert.equal(baselineOf(of("case", { tp: 4, adapter: "y" }), [whole]), whole);
  assert.equal(baselineOf(of("case", { tp: 4 }), [{ ...whole, name: "shard" }]), undefined);
});

Deno.test("bench lookup --tp reads the columns of one rank", async () => {
  const { code, err, json } = await cli(
    ...[
      "bench",
      "lookup",
      "--checkpoint",
      goldenPath("mini"),
      "--tokens",
      "5",
      "--tp",
      "1,5,24,25",
    ],
    ...["--backend", "file", "--json", "--samples", "1", "--warmup", "0", "--device", "cpu"],
  );
  assert.equal(code, 0, err);
  const found = (json().results as BenchResult[]).filter(({ role }) => role === "baseline");
  // Of 24 columns the first of five ranks has five, and each of many one.
  assert.deepEqual(found.map(({ parameters, work }) => [parameters.tp, work.rows]), [
    [1, 120],
    [5, 25],
    [24, 5],
    [25, 5],
  ]);
});

Deno.test("a case that does more work than its baseline in the same time is that much faster", () => {
  const of = (samples: number[], work: Partial<BenchResult["work"]>): BenchResult => ({
    ...RECORD.results[0],
    samples,
    gpuSamples: null,
    work: { tokens: 8, rows: null, distinctRows: null, bytes: null, ...work },
  });
  assert.equal(speedup(of([2], { bytes: 30 }), of([1], { bytes: 10 })), 1.5);
  assert.equal(speedup(of([2], { rows: 5, bytes: 30 }), of([1], { rows: 5, bytes: 10 })), 0.5);
  assert.equal(speedup(of([2], { bytes: 30 }), of([1], {})), 0.5);
});
