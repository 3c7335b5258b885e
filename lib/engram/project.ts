import { EngramError } from "../errors.ts";
import { fromBf16, toBf16, widenBf16 } from "../table/bf16.ts";
import { fp8Value } from "../table/fp8.ts";
import type { Bf16, ProjectionWeights } from "./kernels.ts";

/** Tokens that share one pass over a decoded weight row. */
const TOKEN_BLOCK = 4;

/**
 * `kv = wkv · rows`: bf16 [tokens, outFeatures] of bf16 rows [tokens, inFeatures].
 * Products are exact and summed in double precision, then rounded to float32 and to bf16.
 */
export function project(weights: ProjectionWeights, rows: Bf16, tokens: number): Bf16 {
  const { outFeatures, inFeatures } = weights;
  checkProjection(weights, rows, tokens);
  const out = new Uint16Array(tokens * outFeatures);
  // Whole blocks: the tokens past the end are zeros and their sums are dropped.
  const x = new Float32Array(Math.ceil(tokens / TOKEN_BLOCK) * TOKEN_BLOCK * inFeatures);
  widenBf16(rows, x.subarray(0, rows.length));
  const weight = new Float32Array(inFeatures);
  const decode = rowDecoder(weights);
  for (let n = 0; n < outFeatures && tokens > 0; n++) {
    decode(n, weight);
    for (let t = 0; t < tokens; t += TOKEN_BLOCK) {
      const a = t * inFeatures, b = a + inFeatures, c = b + inFeatures, d = c + inFeatures;
      let sumA = 0, sumB = 0, sumC = 0, sumD = 0;
      for (let k = 0; k < inFeatures; k++) {
        const w = weight[k];
        sumA += w * x[a + k];
        sumB += w * x[b + k];
        sumC += w * x[c + k];
        sumD += w * x[d + k];
      }
      const sums = [sumA, sumB, sumC, sumD];
      for (let i = 0; i < TOKEN_BLOCK && t + i < tokens; i++) {
        out[(t + i) * outFeatures + n] = toBf16(sums[i]);
      }
    }
  }
  return out;
}

/** Fills `into` with row `n` of the weight. */
function rowDecoder(weights: ProjectionWeights): (n: number, into: Float32Array) => void {
  const { codes, scales, inFeatures, block: [blockRows, blockColumns] } = weights;
  if (!scales) {
    return (n, into) => {
      for (let k = 0; k < inFeatures; k++) into[k] = fromBf16(codes[n * inFeatures + k]);
    };
  }
  const values = Float32Array.from({ length: 256 }, (_, code) => fp8Value(code));
  const scaleColumns = Math.ceil(inFeatures / blockColumns);
  return (n, into) => {
    const scaleRow = Math.floor(n / blockRows) * scaleColumns;
    for (let k = 0, tile = scaleRow; k < inFeatures; tile++) {
      const factor = 2 ** (scales[tile] - 127);
      const end = Math.min(k + blockColumns, inFeatures);
      for (; k < end; k++) into[k] = values[codes[n * inFeatures + k]] * factor;
    }
  };
}

/** Checks that weights, scales and rows have the lengths their sizes promise. */
export function checkProjection(weights: ProjectionWeights, rows: Bf16, tokens: number): void {
  const { outFeatures, inFeatures, codes, scales, block } = weights;
  const tiles = Math.ceil(outFeatures / block[0]) * Math.ceil(inFeatures / block[1]);
  const wrong = codes.length !== outFeatures * inFeatures
    ? `${codes.length} weights, wanted ${outFeatures * inFeatures}`
    : scales && scales.length !== tiles
    ? `${scales.length} weight scales, wanted ${tiles}`
    : !scales && codes.BYTES_PER_ELEMENT !== 2
    ? "fp8 weights without scales, wanted scales or bf16 weights"
    : rows.length !== tokens * inFeatures
    ? `${rows.length} row values, wanted ${tokens * inFeatures}`
    : undefined;
  if (wrong) throw new EngramError("usage", `Cannot project ${tokens} tokens: found ${wrong}`);
}
