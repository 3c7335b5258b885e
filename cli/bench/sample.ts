import { Bench } from "tinybench";
import { EngramError } from "../../lib/errors.ts";

/** How often each case runs. */
export interface Sampling {
  /** Runs before any is counted. */
  readonly warmup: number;
  /** Runs counted. */
  readonly samples: number;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` one call at a time and gives the wall seconds of each counted call, in rising order.
 * A call that returns a number gives its own duration in seconds, where a part of it must not count.
 */
export async function sample(
  work: () => Promise<number | void> | number | void,
  { warmup, samples, signal }: Sampling,
): Promise<number[]> {
  const bench = new Bench({
    iterations: samples,
    time: 0,
    warmup: warmup > 0,
    warmupIterations: warmup,
    warmupTime: 0,
    retainSamples: true,
    throws: true,
    signal,
  });
  bench.add("case", async () => {
    const own = await work();
    return own === undefined ? undefined : { overriddenDuration: own * 1000 };
  });
  await bench.run();
  const result = bench.tasks[0].result;
  if (signal.aborted || !("latency" in result) || !result.latency.samples) {
    throw new EngramError("interrupted", "Stopped the benchmark before it had its samples");
  }
  return result.latency.samples.map((milliseconds) => milliseconds / 1000);
}
