import type { Checkpoint } from "../lib/checkpoint/checkpoint.ts";
import type { EngramRunner } from "../lib/engram/engram_runner.ts";
import type { HiddenSource } from "../lib/engram/hidden_source.ts";
import { EngramError } from "../lib/errors.ts";
import { RequestStream } from "../lib/hash/request_stream.ts";
import type { Context } from "./command.ts";
import { GateSummary } from "./gate_summary.ts";
import type { GateRecord } from "./report/gate_record.ts";
import type { TokenInput } from "./token_input.ts";
import { runTokenJob, type TokenCounts } from "./token_job.ts";
import type { TokenTensor } from "./token_output.ts";

/** What can be written beside gates and outputs, in the order it is. */
export const KEPT = ["rows", "kv", "hidden"] as const;

/** An evaluation: the module over all tokens of an input. */
export interface Evaluation {
  readonly checkpoint: Checkpoint;
  readonly input: TokenInput;
  /** Which device the runner runs on. */
  readonly device: "cpu" | "gpu";
  readonly runner: EngramRunner;
  readonly hidden: HiddenSource;
  /** What to write beside gates and outputs. */
  readonly keep: ReadonlySet<(typeof KEPT)[number]>;
  /** Path of the output; without one only a summary is made. */
  readonly out: string | undefined;
  readonly force: boolean;
  /** Takes what a page is made of; null without one. */
  readonly record: GateRecord | null;
}

/**
 * Bytes of a batch's streams, keys and values: a few batches fit any machine. A GPU wants many
 * tokens at once, and each wait for it costs 10 ms.
 */
const BATCH_BYTES = { cpu: 2 ** 25, gpu: 2 ** 28 };

/** Tokens of a batch at most. */
const MOST_TOKENS = 4096;

/** Products of a batch's projections on a CPU: about a second, so that signals are heard. */
const MOST_CPU_PRODUCTS = 1.5e9;

/** Runs the module over all tokens, batch by batch, and writes what was asked for. */
export async function evaluateTokens(
  job: Evaluation,
  context: Context,
): Promise<{ counts: TokenCounts; summary: GateSummary }> {
  const {
    checkpoint: { config, layers },
    input,
    device,
    runner,
    hidden,
    keep,
    out,
    force,
    record,
  } = job;
  const { layout, map: { map } } = input;
  const { hcMult: copies, hiddenSize, headDim } = config;
  const ids = layers.map(({ layerId }) => layerId);
  const summary = new GateSummary(ids, copies, input.tokenizer);
  const requests = new RequestStream(layout.maxNgramSize - 1);
  const tensors = ids.flatMap((id): TokenTensor[] => [
    { name: `layers.${id}.gate`, dtype: "F32", shape: [copies] },
    { name: `layers.${id}.output`, dtype: "BF16", shape: [copies, hiddenSize] },
    ...KEPT.filter((kept) => keep.has(kept)).map((kept): TokenTensor => ({
      name: `layers.${id}.${kept}`,
      dtype: "BF16",
      shape: {
        rows: [layout.columns, headDim],
        kv: [(copies + 1) * hiddenSize],
        hidden: [copies, hiddenSize],
      }[kept],
    })),
  ]);
  const perToken = ids.length * (4 * copies + 1) * hiddenSize * 2;
  const products = ids.length * (copies + 1) * hiddenSize * layout.columns * headDim;
  const plan = {
    force,
    tensors,
    stacked: tensors.flatMap(({ name }, i) => (name.endsWith(".output") ? [i] : [])),
    metadata: {
      format: "engram-eval",
      hidden: hidden.description,
      token_map_sha256: input.map.sha256,
    },
  };
  const counts = await runTokenJob(input, {
    label: "Evaluating",
    batch: Math.min(
      MOST_TOKENS,
      Math.max(1, Math.floor(BATCH_BYTES[device] / perToken)),
      device === "cpu" ? Math.max(1, Math.floor(MOST_CPU_PRODUCTS / products)) : MOST_TOKENS,
    ),
    output: out === undefined ? null : { path: out, plan },
    checkTokens: (tokens) => checkTokens(hidden, tokens),
    async work({ tokenIds, dead, starts }, first) {
      const batch = requests.batch(tokenIds.map((id) => map[id]), dead, starts);
      requests.take(batch);
      const streams = await Promise.all(
        ids.map((id) => hidden.read(id, first, tokenIds.length)),
      );
      const results = await runner.run({
        batch,
        streams,
        mask: dead.map((isDead) => 1 - isDead),
        keep: { ids: record !== null, rows: keep.has("rows"), kv: keep.has("kv") },
      });
      return { streams, results };
    },
    done({ streams, results }, tokens) {
      summary.add(tokens, results.map(({ gate }) => gate));
      record?.add(tokens, results);
      return results.flatMap(({ gate, output, rows, kv }, i) => [
        gate,
        output,
        ...(keep.has("rows") ? [rows!] : []),
        ...(keep.has("kv") ? [kv!] : []),
        ...(keep.has("hidden") ? [streams[i]] : []),
      ]);
    },
  }, context);
  checkTokens(hidden, counts.tokens);
  return { counts, summary };
}

function checkTokens({ tokens: held, description }: HiddenSource, tokens: number): void {
  if (held === null || held === tokens) return;
  throw new EngramError(
    "mismatch",
    `Cannot evaluate: the hidden stream of ${description} has ${held} tokens, ` +
      `wanted ${tokens}, as many as the text`,
  );
}
