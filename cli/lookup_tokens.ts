import { KernelRows } from "../lib/engram/kernel_rows.ts";
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
  const { checkpoint, tables, opened, out, force } = job;
  const { kernels } = opened;
  const { padId } = input;
  const ids = checkpoint.layers.map(({ layerId }) => layerId);
  // A file of the checkpoint's may hold some of its layers alone.
  const layout = {
    ...input.layout,
    layers: ids.map((id) => input.layout.layers.find(({ layerId }) => layerId === id)!),
  };
  const layers = ids.map((layerId) => (
    { layerId, rows: tables.lookup(kernels, layerId), digest: new RowDigest() }
  ));
  using stack = new DisposableStack();
  const found = stack.adopt(
    tables.choice
      ? new KernelRows(kernels, layout, padId, layers.map(({ rows }) => rows))
      : await opened.rows(layout, padId, ids.map((id) => tables.rankRows(id, 0).store)),
    (rows) => rows.close(),
  );
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
      return await found.run(batch);
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
