import type { GpuDevice, Plan } from "../../../lib/gpu/gpu_device.ts";
import type { Dispatch } from "../../../lib/gpu/kernel.ts";

/** Passes timed; each gives one sample. */
const PASSES = 15;
/** A timed pass lasts about this long, so that the cost of its two timestamps does not count. */
const PASS_SECONDS = 1e-3;
/** An idle GPU runs at a fraction of its clock and takes this long to leave it. */
const HEAT_SECONDS = 0.4;

const HEAT = `
struct Sizes { start: f32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) thread: u32) {
  var x = sizes.start + f32(thread);
  for (var i = 0u; i < 2000u; i++) {
    x = fma(x, 0.999, 0.5);
    x = fma(x, 1.001, -0.5);
    x = fma(x, 0.998, 0.25);
    x = fma(x, 1.002, -0.25);
  }
  if x == 12345.0 {
    out[0] = x;
  }
}`;

/**
 * Seconds of one run of `dispatches` on the GPU's clock: one sample for each of several passes that
 * hold many runs. The GPU is first kept busy until its clock is up, and has no pause until the end.
 * With several sets of dispatches, runs go through them in turn, so that a cache does not serve what
 * memory should.
 */
export async function timeDispatches(
  gpu: GpuDevice,
  sets: readonly (readonly Dispatch[])[],
  { quick = false, runs }: { quick?: boolean; runs?: number } = {},
): Promise<number[]> {
  const plans: Plan[] = [];
  for (const set of sets) plans.push(await gpu.prepare(set));
  const heat = await heatPlan(gpu);
  const [heatSeconds] = await passes(gpu, [heat], 4, 1);
  const [first] = await passes(gpu, plans, sets.length, 1);
  const count = quick
    ? sets.length
    : runs ?? Math.max(sets.length, Math.ceil(PASS_SECONDS / first));
  const heats = quick ? 0 : Math.ceil(HEAT_SECONDS / heatSeconds);
  // Twice, and the second time counts: drivers may go on compiling after a kernel's first runs.
  if (!quick) await passes(gpu, plans, count, PASSES, heat, heats);
  const samples = await passes(gpu, plans, count, quick ? 3 : PASSES, heat, heats);
  for (const plan of [...plans, heat]) plan.release();
  return samples;
}

/** The middle of `values`. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

async function heatPlan(gpu: GpuDevice): Promise<Plan> {
  return await gpu.prepare([{
    kernel: { name: "heat", source: HEAT },
    uniforms: [0],
    buffers: [await gpu.buffer(16, "heat")],
    grid: [1056, 1, 1],
  }]);
}

/** Seconds of a run in each of `passes` passes of `count` runs, all in one submit. */
async function passes(
  gpu: GpuDevice,
  plans: readonly Plan[],
  count: number,
  passes: number,
  heat?: Plan,
  heats = 0,
): Promise<number[]> {
  const { device } = gpu;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 * passes });
  const resolved = device.createBuffer({
    size: 16 * passes,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
  });
  const encoder = device.createCommandEncoder();
  if (heat && heats > 0) {
    const pass = encoder.beginComputePass();
    for (let i = 0; i < heats; i++) run(pass, heat);
    // One more pass like those timed: what is measured is the steady state.
    for (let i = 0; i < count; i++) run(pass, plans[i % plans.length]);
    pass.end();
  }
  for (let p = 0; p < passes; p++) {
    const pass = encoder.beginComputePass({
      timestampWrites: {
        querySet,
        beginningOfPassWriteIndex: 2 * p,
        endOfPassWriteIndex: 2 * p + 1,
      },
    });
    for (let i = 0; i < count; i++) run(pass, plans[i % plans.length]);
    pass.end();
  }
  encoder.resolveQuerySet(querySet, 0, 2 * passes, resolved, 0);
  device.queue.submit([encoder.finish()]);
  const [bytes] = await gpu.submit([], [{ buffer: resolved, size: 16 * passes }]);
  querySet.destroy();
  resolved.destroy();
  const stamps = new BigUint64Array(bytes.buffer);
  return Array.from(
    { length: passes },
    (_, p) => Number(stamps[2 * p + 1] - stamps[2 * p]) * 1e-9 / count,
  );
}

function run(pass: GPUComputePassEncoder, { steps }: Plan): void {
  for (const { pipeline, bindGroup, grid } of steps) {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(...grid);
  }
}
