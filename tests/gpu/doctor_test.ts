import assert from "node:assert/strict";
import { findAdapter } from "../../lib/gpu/request_device.ts";
import { cli } from "../run_cli.ts";
import { hasGpu } from "./open_gpu.ts";

Deno.test("doctor says why there is no GPU, and what else will run", async () => {
  const request = navigator.gpu.requestAdapter;
  navigator.gpu.requestAdapter = () => Promise.resolve(null);
  try {
    const { code, json } = await cli("doctor", "--json");
    assert.equal(code, 0);
    const report = json();
    assert.equal(report.adapter, null);
    assert.equal(report.deno.version, Deno.version.deno);
    assert.deepEqual(Object.keys(report.permissions), ["read", "write", "net", "env", "ffi"]);
    const [gpu, cpu] = report.jobs;
    assert.equal(gpu.runs, false);
    assert.match(gpu.why, /finds no adapter/);
    assert.match(gpu.hint, /driver/);
    assert.equal(cpu.runs, true);
    const text = await cli("doctor");
    assert.match(text.out, /GPU: none/);
    assert.match(text.out, /kernels on the CPU +yes/);
    const demanded = await cli("doctor", "--device", "gpu");
    assert.equal(demanded.code, 6);
    assert.match(demanded.out, /GPU: none/);
    assert.match(demanded.err, /Cannot use a GPU: .*finds no adapter/);
  } finally {
    navigator.gpu.requestAdapter = request;
  }
});

Deno.test("doctor --device cpu does not look for a GPU", async () => {
  const request = navigator.gpu.requestAdapter;
  let asked = 0;
  navigator.gpu.requestAdapter = () => Promise.resolve((asked++, null));
  try {
    const { code, json } = await cli("doctor", "--device", "cpu", "--json");
    assert.equal(code, 0);
    assert.equal(json().adapter, null);
    assert.equal(json().jobs[0].why, "not looked for, with --device cpu");
    assert.equal(asked, 0);
  } finally {
    navigator.gpu.requestAdapter = request;
  }
});

Deno.test("doctor runs without any permission and names the flags that are missing", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-env=XDG_RUNTIME_DIR", "cli/main.ts", "doctor", "--json"],
    cwd: new URL("../..", import.meta.url),
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const report = JSON.parse(new TextDecoder().decode(stdout));
  assert.equal(report.permissions.read, "prompt");
  const read = report.jobs.find((job: { job: string }) => job.job.startsWith("read"));
  assert.equal(read.runs, false);
  assert.match(read.hint, /--allow-read/);
});

if (await hasGpu()) {
  Deno.test("doctor names the adapter, its limits and features, and tests it", async () => {
    const { json } = await cli("doctor", "--json");
    const { adapter, jobs } = json();
    const { info, limits } = (await findAdapter())!;
    assert.equal(adapter.name, info.description);
    assert.equal(adapter.selfTest, "passed");
    assert.equal(adapter.limits.maxBufferSize, limits.maxBufferSize);
    assert.equal(typeof adapter.features["timestamp-query"], "boolean");
    assert.equal(jobs[0].runs, true);
    const { out } = await cli("doctor");
    assert.match(out, /maxStorageBufferBindingSize/);
    assert.match(out, /self-test passed/);
  });
}
