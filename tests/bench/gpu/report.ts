import { median } from "./time_dispatches.ts";

/** One measurement. */
export interface Measured {
  /** What ran. */
  readonly name: string;
  /** The size of the work. */
  readonly size: string;
  /** Seconds of each run. */
  readonly seconds: readonly number[];
  /** Work done in a run, and its unit: bytes, tokens, rows, flop. */
  readonly counts?: { readonly amount: number; readonly unit: string };
  /** How the result was checked. */
  readonly checked?: string;
}

/** Collects measurements, prints each as a line of JSON, and all as a table. */
export class Report {
  /** Benches that broke off. */
  failures = 0;
  readonly #rows: string[][] = [];

  add({ name, size, seconds, counts, checked }: Measured): void {
    const middle = median(seconds);
    const least = Math.min(...seconds);
    console.log(
      JSON.stringify({
        name,
        size,
        seconds: seconds.map((s) => +s.toPrecision(5)),
        counts,
        checked,
      }),
    );
    this.#rows.push([
      name,
      size,
      micro(middle),
      micro(least),
      counts ? rate(counts.amount / middle, counts.unit) : "",
      checked ?? "",
    ]);
  }

  failed(name: string, error: unknown): void {
    this.failures++;
    console.error(error);
    this.#rows.push([name, "FAILED", "", "", "", String(error).slice(0, 200)]);
  }

  table(): string {
    const rows = [["kernel", "size", "median", "least", "rate", "checked"], ...this.#rows];
    const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
    return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd())
      .join("\n");
  }
}

function micro(seconds: number): string {
  return `${(seconds * 1e6).toFixed(1)} µs`;
}

function rate(perSecond: number, unit: string): string {
  if (unit === "rows") return `${(1e9 / perSecond).toFixed(3)} ns/row`;
  if (unit === "tokens") return `${(perSecond / 1e6).toFixed(0)} M tokens/s`;
  if (unit === "flop") return `${(perSecond / 1e12).toFixed(1)} TFLOP/s`;
  return `${(perSecond / 1e9).toFixed(0)} GB/s`;
}
