import { EngramError } from "../errors.ts";
import { narrowToBf16, widenBf16 } from "../table/bf16.ts";
import type { GateInput, GateOutput, GateWeights } from "./kernels.ts";

/** Least |dot| under the square root. */
const LEAST = 1e-6;

/**
 * The gate of each token and copy, and the gated stream:
 * `g = sigmoid(sign(dot) * sqrt(max(|dot|, 1e-6)))`, `output = stream + g * value`.
 * Sums are kept in double precision. A masked token has gate 0 and keeps its stream bit for bit.
 */
export function gate(weights: GateWeights, input: GateInput): GateOutput {
  checkGate(weights, input);
  const { hidden, copies, eps } = weights;
  const { tokens, stream: streamBits, kv: kvBits, mask } = input;
  const scale = weightProducts(weights);
  const gates = new Float32Array(tokens * copies);
  const output = streamBits.slice();
  const stream = new Float32Array(hidden);
  const kv = new Float32Array((copies + 1) * hidden);
  for (let t = 0; t < tokens; t++) {
    if (mask && mask[t] === 0) continue;
    widenBf16(kvBits.subarray(t * kv.length, (t + 1) * kv.length), kv);
    const value = kv.subarray(copies * hidden);
    for (let c = 0; c < copies; c++) {
      const at = (t * copies + c) * hidden;
      widenBf16(streamBits.subarray(at, at + hidden), stream);
      const dot = normalizedDot(stream, kv, scale, c, hidden, eps);
      const g = gateOf(dot);
      gates[t * copies + c] = g;
      for (let i = 0; i < hidden; i++) stream[i] += g * value[i];
      narrowToBf16(stream, output.subarray(at, at + hidden));
    }
  }
  return { gate: gates, output };
}

/** `q * k` in double precision, [copies, hidden]. */
function weightProducts({ q, k }: GateWeights): Float64Array {
  const wideQ = widenBf16(q);
  const wideK = widenBf16(k);
  return Float64Array.from(wideQ, (value, i) => value * wideK[i]);
}

/** `Σ h·q·k·key / (rms(h) · rms(key) · sqrt(hidden))` of one copy. */
function normalizedDot(
  stream: Float32Array,
  keys: Float32Array,
  scale: Float64Array,
  copy: number,
  hidden: number,
  eps: number,
): number {
  const from = copy * hidden;
  let dot = 0, streamSquares = 0, keySquares = 0;
  for (let i = 0; i < hidden; i++) {
    const h = stream[i];
    const key = keys[from + i];
    dot += h * scale[from + i] * key;
    streamSquares += h * h;
    keySquares += key * key;
  }
  // Two roots apart: with eps 1e-20 and all zeros their product stays finite.
  const norms = Math.sqrt(streamSquares / hidden + eps) * Math.sqrt(keySquares / hidden + eps);
  return dot / norms / Math.sqrt(hidden);
}

/** The gate of a dot product; zero of either sign counts as plus. */
function gateOf(dot: number): number {
  const root = Math.sqrt(Math.max(Math.abs(dot), LEAST));
  return 1 / (1 + Math.exp(dot < 0 ? root : -root));
}

/** Checks that all arrays have the lengths their sizes promise; `kv` where the host has it. */
export function checkGate(
  weights: GateWeights,
  input: Omit<GateInput, "kv"> & Partial<GateInput>,
): void {
  const { hidden, copies, q, k } = weights;
  const { tokens, stream, kv, mask } = input;
  const kvLength = tokens * (copies + 1) * hidden;
  const wanted: [string, number, number][] = [
    ["q weights", q.length, copies * hidden],
    ["k weights", k.length, copies * hidden],
    ["stream values", stream.length, tokens * copies * hidden],
    ["key and value elements", kv ? kv.length : kvLength, kvLength],
    ["mask entries", mask ? mask.length : tokens, tokens],
  ];
  for (const [what, found, want] of wanted) {
    if (found !== want) {
      throw new EngramError(
        "usage",
        `Cannot gate ${tokens} tokens: found ${found} ${what}, wanted ${want}`,
      );
    }
  }
}
