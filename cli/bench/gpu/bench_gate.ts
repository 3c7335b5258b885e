import assert from "node:assert/strict";
import { gate } from "../../../lib/engram/gate.ts";
import { GateStream } from "../../../lib/gpu/gate_stream.ts";
import type { GpuKernels } from "../../../lib/gpu/gpu_kernels.ts";
import type { Report } from "./report.ts";
import { randomBf16 } from "./random_bf16.ts";
import { timeDispatches } from "./time_dispatches.ts";

const HIDDEN = 5120;
const COPIES = 4;
/** Stream and kv read, output written. */
const TOKEN_BYTES = 2 * HIDDEN * (COPIES + COPIES + 1 + COPIES);

/** The released gate. */
export async function benchGate({ gpu }: GpuKernels, report: Report, small: boolean) {
  const weights = {
    hidden: HIDDEN,
    copies: COPIES,
    q: randomBf16(COPIES * HIDDEN),
    k: randomBf16(COPIES * HIDDEN),
    eps: 1e-20,
  };
  const stage = await GateStream.create(gpu, weights);
  for (const tokens of small ? [20] : [1, 2048, 8192]) {
    const stream = randomBf16(tokens * COPIES * HIDDEN);
    const kv = randomBf16(tokens * (COPIES + 1) * HIDDEN);
    const buffers = {
      tokens,
      stream: await gpu.upload(stream, "stream"),
      kv: await gpu.upload(kv, "kv"),
      gate: await gpu.buffer(4 * tokens * COPIES, "gates"),
      output: await gpu.buffer(2 * stream.length, "output"),
    };
    const dispatches = stage.dispatches(buffers);
    const seconds = await timeDispatches(gpu, [dispatches], { quick: small });
    const [gates, output] = await gpu.submit(dispatches, [
      { buffer: buffers.gate, size: 4 * tokens * COPIES },
      { buffer: buffers.output, size: 2 * stream.length },
    ]);
    report.add({
      name: "gate",
      size: `${tokens} × ${COPIES} × ${HIDDEN}`,
      seconds,
      counts: { amount: tokens * TOKEN_BYTES, unit: "bytes" },
      checked: check(weights, tokens, stream, kv, gates, output),
    });
    for (const buffer of Object.values(buffers)) if (typeof buffer !== "number") buffer.destroy();
  }
  stage.destroy();
}

/** The first and the last tokens against the CPU. */
function check(
  weights: Parameters<typeof gate>[0],
  tokens: number,
  stream: Uint16Array,
  kv: Uint16Array,
  gates: Uint8Array,
  output: Uint8Array,
): string {
  const few = Math.min(20, tokens);
  let worst = 0;
  let apart = 0;
  for (const first of [0, tokens - few]) {
    const part = (values: Uint16Array, width: number) =>
      values.subarray(first * width, (first + few) * width);
    const wanted = gate(weights, {
      tokens: few,
      stream: part(stream, COPIES * HIDDEN),
      kv: part(kv, (COPIES + 1) * HIDDEN),
    });
    const found = new Float32Array(gates.buffer).subarray(first * COPIES, (first + few) * COPIES);
    found.forEach((g, i) => worst = Math.max(worst, Math.abs(g - wanted.gate[i])));
    part(new Uint16Array(output.buffer), COPIES * HIDDEN).forEach((bits, i) => {
      if (bits !== wanted.output[i]) apart++;
    });
  }
  assert.ok(worst <= 1e-5, `gate off by ${worst}`);
  assert.ok(apart <= 0.01 * 2 * few * COPIES * HIDDEN, `${apart} outputs differ`);
  return `gates within ${worst.toExponential(1)}, ${apart} of ${
    2 * few * COPIES * HIDDEN
  } outputs differ`;
}
