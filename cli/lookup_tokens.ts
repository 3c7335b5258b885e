import { layerIds } from "../lib/engram/layer_ids.ts";
import { RequestStream } from "../lib/hash/request_stream.ts";
import type { Context } from "./command.ts";
import { type LookupJob, type LookupResult, RowDigest } from "./lookup_job.ts";
import type { TokenInput } from "./token_input.ts";
import { runTokenJob } from "./token_job.ts";

/** Decoded bytes of a batch: enough that reads are sorted over many rows. */
const BATCH_BYTES = 2 ** 26;

/** Looks up the rows of all tokens of `input`, batch by batch. */
export async function lookUpTokens(
  job: LookupJob,
  input: TokenInput,
  context: Context,
): Promise<LookupResult> {
  const { checkpoint, tables, kernels, out, force } = job;
  const { layout, padId } = input;
  const layers = checkpoint.layers.map((layer) => {
    const index = layout.layers.findIndex(({ layerId }) => layerId === layer.layerId);
    const rows = tables.lookup(kernels, layer.layerId);
    return { layerId: layer.layerId, index, rows, digest: new RowDigest() };
  });
  const perToken = layers.reduce((sum, { rows }) => sum + rows.columns * rows.headDim * 2, 0);
  const plan = {
    force,
    tensors: layers.map(({ layerId, rows }) => ({
      name: `layers.${layerId}.rows`,
      dtype: "BF16" as const,
      shape: [rows.columns, rows.headDim],
    })),
    stacked: layers.map((_, i) => i),
    metadata: { format: "engram-rows", token_map_sha256: input.map.sha256 },
  };
  const requests = new RequestStream(layout.maxNgramSize - 1);
  const { map } = input.map;
  const counts = await runTokenJob(input, {
    label: "Looking up",
    batch: Math.max(1, Math.floor(BATCH_BYTES / perToken)),
    output: out === undefined ? null : { path: out, plan },
    async work({ tokenIds, dead, starts }) {
      const batch = requests.batch(tokenIds.map((id) => map[id]), dead, starts);
      requests.take(batch);
      const ids = await kernels.hash(layout, padId, batch);
      const values: Uint16Array[] = [];
      for (const { index, rows } of layers) {
        values.push(await rows.lookup(layerIds(ids, index, layout.layers.length, layout.columns)));
      }
      return values;
    },
    done(values) {
      values.forEach((rows, i) => layers[i].digest.add(rows));
      return values;
    },
  }, context);
  return {
    tokens: counts.tokens,
    requests: counts.requests,
    dead_tokens: counts.dead,
    device: kernels.description,
    layers: layers.map(({ layerId, rows, digest }) =>
      digest.result(layerId, [counts.tokens, rows.columns, rows.headDim])
    ),
  };
}
