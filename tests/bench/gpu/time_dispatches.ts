import type { GpuDevice } from "../../../lib/gpu/gpu_device.ts";
import type { Dispatch } from "../../../lib/gpu/kernel.ts";

/** Query sets hold at most this many timestamps. */
const MOST_QUERIES = 4096;

/**
 * Seconds on the GPU's clock of each of `repeats` runs of `dispatches` (the end of the last minus the
 * start of the first), after one run that is not counted. With several sets of dispatches, runs go
 * through them in turn, so that a cache does not serve what memory should.
 */
export async function timeDispatches(
  gpu: GpuDevice,
  sets: readonly (readonly Dispatch[])[],
  repeats: number,
): Promise<number[]> {
  for (const set of sets) await gpu.submit(set);
  await gpu.finish();
  const seconds: number[] = [];
  const each = Math.max(1, Math.min(16, Math.floor(MOST_QUERIES / 2 / sets[0].length)));
  while (seconds.length < repeats) {
    const runs = Array.from({ length: each }, (_, i) => sets[(seconds.length + i) % sets.length]);
    const stamps = await timestamps(gpu, runs.flat());
    let at = 0;
    for (const run of runs) {
      const begin = stamps[2 * at];
      at += run.length;
      seconds.push(Number(stamps[2 * at - 1] - begin) * 1e-9);
    }
  }
  return seconds;
}

/** Seconds of each dispatch by itself, by kernel name, summed over one run: median of `repeats` runs. */
export async function timeEach(
  gpu: GpuDevice,
  dispatches: readonly Dispatch[],
  repeats: number,
): Promise<Map<string, number>> {
  await gpu.submit(dispatches);
  const samples = new Map<string, number[]>();
  for (let i = 0; i < repeats; i++) {
    const stamps = await timestamps(gpu, dispatches);
    const sums = new Map<string, number>();
    dispatches.forEach(({ kernel }, at) => {
      const took = Number(stamps[2 * at + 1] - stamps[2 * at]) * 1e-9;
      sums.set(kernel.name, (sums.get(kernel.name) ?? 0) + took);
    });
    for (const [name, took] of sums) samples.set(name, [...samples.get(name) ?? [], took]);
  }
  return new Map([...samples].map(([name, took]) => [name, median(took)]));
}

/** The middle of `values`. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

async function timestamps(
  gpu: GpuDevice,
  dispatches: readonly Dispatch[],
): Promise<BigUint64Array> {
  const count = 2 * dispatches.length;
  const querySet = gpu.device.createQuerySet({ type: "timestamp", count });
  const resolved = gpu.device.createBuffer({
    size: 8 * count,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
  });
  await gpu.submit(dispatches, [], { querySet });
  const encoder = gpu.device.createCommandEncoder();
  encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
  gpu.device.queue.submit([encoder.finish()]);
  const [bytes] = await gpu.submit([], [{ buffer: resolved, size: 8 * count }]);
  querySet.destroy();
  resolved.destroy();
  return new BigUint64Array(bytes.buffer);
}
