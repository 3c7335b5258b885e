/**
 * Times every kernel on the GPU's own clock, and checks each result in the same run:
 *
 *     deno run -A tests/bench/gpu_kernels.ts [--small] [--full] [NAME…]
 *
 * NAME is copy, lookup, table, hash, gate, projection or chain; all but `table` by default. `--full`
 * adds the released layer 1 whole (101 GB on the GPU). `--small` shrinks all sizes, for a software
 * adapter. One JSON line a measurement, then a table. What is counted: see each measurement's `counts`.
 */
import { GpuKernels } from "../../lib/gpu/gpu_kernels.ts";
import { requestDevice } from "../../lib/gpu/request_device.ts";
import { benchChain } from "./gpu/bench_chain.ts";
import { benchCopy } from "./gpu/bench_copy.ts";
import { benchGate } from "./gpu/bench_gate.ts";
import { benchHash } from "./gpu/bench_hash.ts";
import { benchLookup, benchWholeTable } from "./gpu/bench_lookup.ts";
import { benchProjection } from "./gpu/bench_projection.ts";
import { Report } from "./gpu/report.ts";

const BENCHES = {
  copy: benchCopy,
  lookup: benchLookup,
  hash: benchHash,
  gate: benchGate,
  projection: benchProjection,
  chain: benchChain,
  table: benchWholeTable,
} as const;

const flags = Deno.args.filter((arg) => arg.startsWith("--"));
const names = Deno.args.filter((arg) => !arg.startsWith("--"));
const small = flags.includes("--small");
const report = new Report();
const kernels = new GpuKernels(await requestDevice());
console.log(`${kernels.description}, Deno ${Deno.version.deno}`);
if (!kernels.gpu.timestamps) throw new Error("This adapter has no timestamps");
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 ? !names.includes(name) : name === "table" && !flags.includes("--full")) {
    continue;
  }
  try {
    await bench(kernels, report, small);
  } catch (error) {
    // The others still count; the failure is told and ends in the exit code.
    report.failed(name, error);
  }
}
kernels.close();
console.log(report.table());
Deno.exit(report.failures > 0 ? 1 : 0);
