import type { ProjectionWeights } from "../engram/kernels.ts";
import type { BufferLease } from "./buffer_lease.ts";
import type { Dispatch } from "./kernel.ts";
import type { Projection } from "./projection.ts";
import { restride } from "./restride.ts";

/** Keys and values, once the dispatches have run. */
export interface ProjectedRows {
  /** What makes them. */
  readonly dispatches: readonly Dispatch[];
  /** bf16 [tokens, outFeatures]. */
  readonly kv: GPUBuffer;
}

/**
 * Projects bf16 rows [tokens, inFeatures]. The projection's own rows stand further apart where these
 * numbers are odd; they are then moved before and after.
 */
export async function projectRows(
  projection: Projection,
  { inFeatures, outFeatures }: Pick<ProjectionWeights, "inFeatures" | "outFeatures">,
  rows: GPUBuffer,
  tokens: number,
  lease: BufferLease,
): Promise<ProjectedRows> {
  const { inStride, outStride } = projection;
  const dispatches: Dispatch[] = [];
  const move = async (from: number, to: number, values: GPUBuffer) => {
    if (from === to) return values;
    const out = await lease.buffer(2 * tokens * to, "moved rows");
    dispatches.push(restride(tokens, { from, to }, values, out));
    return out;
  };
  const input = await move(inFeatures, inStride, rows);
  const output = await lease.buffer(2 * tokens * outStride, "kv");
  dispatches.push(...projection.dispatches(input, output, tokens));
  return { kv: await move(outStride, outFeatures, output), dispatches };
}
