import cliProgress from "cli-progress";
import type { Printer } from "./printer.ts";
import { bytes, count } from "./units.ts";

/** A running task's bar; every call is cheap, and does nothing where no bar is wanted. */
export interface Progress {
  /** Adds `n` units of finished work. */
  advance(n: number): void;
  /** Removes the bar. */
  stop(): void;
}

/** Bars appear only after this long, so that quick work stays silent. */
const DELAY_MS = 500;

/** Starts a bar on stderr, on a terminal only. `total` and `advance` are in `unit`. */
export function startProgress(
  printer: Printer,
  label: string,
  total: number,
  unit: "bytes" | "tokens" | "rows" | "items",
): Progress {
  if (!printer.showsProgress) return { advance() {}, stop() {} };
  const show = unit === "bytes" ? bytes : count;
  const started = performance.now();
  let done = 0;
  let bar: cliProgress.SingleBar | undefined;
  return {
    advance(n) {
      done += n;
      const elapsed = performance.now() - started;
      if (!bar && elapsed > DELAY_MS) {
        bar = new cliProgress.SingleBar({
          format: `${label} {bar} {percentage}% | {shown} | {rate}/s | {eta_formatted} left`,
          stream: { ...stderrStream(printer) } as unknown as NodeJS.WritableStream,
          hideCursor: true,
          clearOnComplete: true,
          fps: 8,
          noTTYOutput: false,
        }, cliProgress.Presets.legacy);
        bar.start(total, done, { shown: "", rate: "" });
      }
      const rate = show(Math.round(done / (elapsed / 1000)));
      bar?.update(Math.min(done, total), { shown: `${show(done)} of ${show(total)}`, rate });
    },
    stop() {
      bar?.stop();
    },
  };
}

/** cli-progress writes to a Node stream; the printer owns stderr, so it is given one made of it. */
function stderrStream(printer: Printer) {
  return {
    isTTY: true,
    get columns() {
      try {
        return Deno.consoleSize().columns;
      } catch {
        return 80;
      }
    },
    write: (text: string) => {
      printer.err(text);
      return true;
    },
  };
}
