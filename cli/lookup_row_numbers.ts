import { EngramError } from "../lib/errors.ts";
import { inOrder } from "../lib/engram/in_order.ts";
import type { Context } from "./command.ts";
import { type LookupJob, type LookupResult, RowDigest } from "./lookup_job.ts";
import { openRowOutput } from "./row_output.ts";
import type { RowRequests } from "./row_requests.ts";

/** Row numbers looked up at once. */
const BATCH_ROWS = 65_536;

/** Looks up rows by number. */
export async function lookUpRowNumbers(
  { tables, opened: { kernels }, out, force }: LookupJob,
  { path, layers: requested }: RowRequests,
  { progress, signal }: Context,
): Promise<LookupResult> {
  const layers = requested.map(({ layerId, count, pieces }) => {
    const rows = tables.lookup(kernels, layerId);
    const held = tables.rows(layerId);
    return { layerId, count, pieces, rows, held, headDim: rows.headDim, digest: new RowDigest() };
  });
  using output = out === undefined ? null : openRowOutput(out, layers, force);
  const bar = progress("Looking up", layers.reduce((sum, { count }) => sum + count, 0), "rows");
  try {
    for (const [index, { layerId, rows, held, digest, pieces }] of layers.entries()) {
      let next = 0;
      const lookUp = async (ids: Float64Array) => {
        const first = next;
        next += ids.length;
        const bad = ids.findIndex((id) => !(id >= 0 && id < held) || id % 1 !== 0);
        if (bad < 0) return { ids, values: await rows.rows(ids) };
        throw new EngramError(
          "malformed",
          `Cannot look up rows of layer ${layerId}: row number ${first + bad} of \`${path}\` ` +
            `is ${ids[bad]}, wanted an integer from 0 to ${held - 1}`,
          { where: path },
        );
      };
      for await (const { ids, values } of inOrder(pieces(BATCH_ROWS), lookUp, signal)) {
        digest.add(values);
        output?.append(index, ids, values);
        bar.advance(ids.length);
      }
    }
  } finally {
    bar.stop();
  }
  output?.commit();
  return {
    tokens: null,
    requests: null,
    dead_tokens: null,
    device: kernels.description,
    layers: layers.map(({ layerId, count, headDim, digest }) =>
      digest.result(layerId, [count, headDim])
    ),
  };
}
