import subnormals from "../../shaders/subnormals.wgsl" with { type: "text" };
import type { GpuDevice } from "./gpu_device.ts";

const known = new WeakMap<GpuDevice, Promise<boolean>>();

/** Whether `gpu` widens subnormal 16-bit floats exactly; tried once on each device. */
export function keepsSubnormals(gpu: GpuDevice): Promise<boolean> {
  let answer = known.get(gpu);
  if (!answer) known.set(gpu, answer = tried(gpu));
  return answer;
}

async function tried(gpu: GpuDevice): Promise<boolean> {
  const out = await gpu.buffer(14 * 4, "subnormals");
  const [bytes] = await gpu.submit([{
    kernel: { name: "subnormals", source: subnormals },
    uniforms: [1],
    buffers: [out],
    grid: [1, 1, 1],
  }], [{ buffer: out, size: 14 * 4 }]);
  out.destroy();
  // An fp8 code's bits moved to a half's are its value * 2^-8; the kernel doubles it.
  return new Float32Array(bytes.buffer).every((value, i) =>
    value === (i < 7 ? 1 : -1) * (i % 7 + 1) * 2 ** -16
  );
}
