import assert from "node:assert/strict";
import { CpuKernels } from "../../lib/engram/cpu_kernels.ts";
import { EngramError } from "../../lib/errors.ts";
import { openKernels } from "../../lib/gpu/open_kernels.ts";
import { GpuDevice } from "../../lib/gpu/gpu_device.ts";
import { GpuKernels } from "../../lib/gpu/gpu_kernels.ts";
import { findAdapter } from "../../lib/gpu/request_device.ts";
import { selfTest } from "../../lib/gpu/self_test.ts";
import { hasGpu } from "./open_gpu.ts";

Deno.test("the CPU is opened when asked for", async () => {
  const { kernels, note } = await openKernels("cpu");
  assert.equal(kernels.device, "cpu");
  assert.equal(note, "CPU");
});

Deno.test("a runtime without an adapter falls back to the CPU, or says so when the GPU is demanded", async () => {
  const request = navigator.gpu.requestAdapter;
  navigator.gpu.requestAdapter = () => Promise.resolve(null);
  try {
    const { kernels, note } = await openKernels("auto");
    assert.equal(kernels.device, "cpu");
    assert.match(note, /^CPU \(Cannot use a GPU: WebGPU finds no adapter\)$/);
    await assert.rejects(
      openKernels("gpu"),
      (error) => error instanceof EngramError && error.kind === "no_gpu",
    );
  } finally {
    navigator.gpu.requestAdapter = request;
  }
});

Deno.test("the self-test passes right kernels and names the one that is wrong", async () => {
  assert.equal(await selfTest(new CpuKernels()), undefined);
  for (const name of ["hash", "lookup", "project", "gate", "relay"] as const) {
    const wrong = new CpuKernels();
    const right = wrong[name].bind(wrong) as (...args: unknown[]) => Promise<unknown>;
    // One wrong value in one kernel's result.
    Object.assign(wrong, {
      [name]: async (...args: unknown[]) => {
        const result = await right(...args);
        const values = (name === "gate" ? (result as { gate: Float32Array }).gate : result) as
          & { [i: number]: number }
          & ArrayLike<number>;
        values[3] += name === "project" ? 1000 : 1;
        return result;
      },
    });
    assert.match(String(await selfTest(wrong)), new RegExp(`^${name}: `));
  }
});

if (await hasGpu()) {
  Deno.test("the GPU passes its self-test", async () => {
    const { kernels, note } = await openKernels("gpu");
    assert.equal(kernels.device, "gpu");
    assert.equal(note, `GPU: ${kernels.description}`);
    kernels.close();
  });

  Deno.test("a device with WebGPU's own limits, the least there are, passes it as well", async () => {
    const adapter = (await findAdapter())!;
    const device = await adapter.requestDevice();
    assert.equal(device.limits.maxStorageBuffersPerShaderStage, 8);
    assert.equal(device.limits.maxComputeWorkgroupStorageSize, 16_384);
    const kernels = new GpuKernels(new GpuDevice(device, "least", true));
    assert.equal(await selfTest(kernels), undefined);
    kernels.close();
  });
}
