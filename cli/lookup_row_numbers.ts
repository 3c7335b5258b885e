import { EngramError } from "../lib/errors.ts";
import { inOrder } from "../lib/engram/in_order.ts";
import { SafetensorsWriter } from "../lib/safetensors/safetensors_writer.ts";
import type { Context } from "./command.ts";
import { type LookupJob, type LookupResult, RowDigest } from "./lookup_job.ts";
import type { RowRequests } from "./row_requests.ts";

/** Row numbers looked up at once. */
const BATCH_ROWS = 65_536;

/** Looks up rows by number. */
export async function lookUpRowNumbers(
  job: LookupJob,
  requests: RowRequests,
  { progress, signal }: Context,
): Promise<LookupResult> {
  const { tables, kernels, out, force } = job;
  const { path } = requests;
  if (out !== undefined && !out.endsWith(".safetensors")) {
    throw new EngramError(
      "usage",
      `Cannot write rows by number to \`${out}\`: wanted a .safetensors file`,
    );
  }
  const layers = requests.layers.map((request) => ({
    ...request,
    rows: tables.lookup(kernels, request.layerId),
    held: tables.rows(request.layerId),
    digest: new RowDigest(),
  }));
  using writer = out === undefined ? null : SafetensorsWriter.create(
    out,
    layers.map(({ layerId, count, rows }) => ({
      name: `layers.${layerId}.rows`,
      dtype: "BF16" as const,
      shape: [count, rows.headDim],
    })),
    { force, metadata: { format: "engram-rows" } },
  );
  const bar = progress("Looking up", layers.reduce((sum, { count }) => sum + count, 0), "rows");
  try {
    for (const { layerId, rows, held, digest, pieces } of layers) {
      let next = 0;
      const lookUp = async (ids: Float64Array) => {
        const first = next;
        next += ids.length;
        const bad = ids.findIndex((id) => !(id >= 0 && id < held) || id % 1 !== 0);
        if (bad < 0) return await rows.rows(ids);
        throw new EngramError(
          "malformed",
          `Cannot look up rows of layer ${layerId}: row number ${first + bad} of \`${path}\` ` +
            `is ${ids[bad]}, wanted an integer from 0 to ${held - 1}`,
          { where: path },
        );
      };
      for await (const values of inOrder(pieces(BATCH_ROWS), lookUp, signal)) {
        digest.add(values);
        writer?.append(
          `layers.${layerId}.rows`,
          new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
        );
        bar.advance(values.length / rows.headDim);
      }
    }
  } finally {
    bar.stop();
  }
  writer?.commit();
  return {
    tokens: null,
    requests: null,
    dead_tokens: null,
    device: kernels.description,
    layers: layers.map(({ layerId, count, rows, digest }) =>
      digest.result(layerId, [count, rows.headDim])
    ),
  };
}
