import type { BenchResult } from "../record.ts";
import type { Measured } from "./report.ts";

const UNCHECKED = "the chain is timed, not checked: its kernels are checked by their own cases";

/** A kernel's measurement as a result of a benchmark; `adapter` is the GPU's name. */
export function kernelResult(
  { name, size, seconds, counts, checked }: Measured,
  adapter: string,
): BenchResult {
  const amount = (unit: string) => counts?.unit === unit ? counts.amount : null;
  const flop = amount("flop");
  const wall = /\bwall\b/.test(name);
  const samples = seconds.toSorted((a, b) => a - b);
  return {
    name: "kernels",
    variant: name,
    role: name === "copy" ? "ceiling" : "case",
    parameters: { size, of: "gpu", adapter, ...(flop === null ? {} : { flop }) },
    work: {
      tokens: amount("tokens"),
      rows: amount("rows"),
      distinctRows: null,
      bytes: amount("bytes"),
    },
    counted: "bytes read and written by one run of a kernel, each once",
    excluded: "upload, download, compiling",
    samples: wall ? samples : [],
    gpuSamples: wall ? null : samples,
    warnings: checked === undefined && name !== "copy" ? [UNCHECKED] : [],
  };
}
