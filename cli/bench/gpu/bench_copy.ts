import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import { type Dispatch, gridOf } from "../../../lib/gpu/kernel.ts";
import { fill } from "./fill.ts";
import type { Report } from "./report.ts";
import { timeDispatches } from "./time_dispatches.ts";

const SOURCE = `
struct Sizes { count: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 1024u + thread;
  if at >= sizes.count {
    return;
  }
  let a = source[at];
  let b = source[at + 256u];
  let c = source[at + 512u];
  let d = source[at + 768u];
  out[at] = a;
  out[at + 256u] = b;
  out[at + 512u] = c;
  out[at + 768u] = d;
}`;

/** The ceiling: bytes read plus bytes written by a kernel that only copies. */
export async function benchCopy(
  { gpu }: GpuKernels,
  report: Report,
  small: boolean,
): Promise<void> {
  const bytes = small ? 2 ** 20 : 2 ** 30;
  const source = await gpu.buffer(bytes, "source");
  const out = await gpu.buffer(bytes, "copy");
  await gpu.submit([fill(source, bytes, 1)]);
  const copy: Dispatch = {
    kernel: { name: "copy", source: SOURCE },
    uniforms: [bytes / 16],
    buffers: [source, out],
    grid: gridOf(bytes / 16 / 1024),
  };
  const seconds = await timeDispatches(gpu, [[copy]], { quick: small });
  report.add({
    name: "copy",
    size: `${bytes / 2 ** 20} MiB`,
    seconds,
    counts: { amount: 2 * bytes, unit: "bytes" },
  });
  for (const buffer of [source, out]) buffer.destroy();
}
