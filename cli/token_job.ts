import { inOrder } from "../lib/engram/in_order.ts";
import type { Context } from "./command.ts";
import { regroupTokens } from "./regroup_tokens.ts";
import type { TokenInput } from "./token_input.ts";
import { openTokenOutput, type TokenOutputPlan } from "./token_output.ts";
import { type SpooledTokens, TokenSpool } from "./token_spool.ts";

/** Work on every token of an input, batch by batch, perhaps written to a file. */
export interface TokenJob<R> {
  /** What the progress bar says. */
  readonly label: string;
  /** Tokens of a batch. */
  readonly batch: number;
  /** Where the results go; null to keep nothing. */
  readonly output: { path: string; plan: Omit<TokenOutputPlan, "tokens" | "starts"> } | null;
  /** Fails early where the number of tokens, known only with an output, does not do. */
  readonly checkTokens?: (tokens: number) => void;
  /** Begins the work on a batch; called in order, a batch ahead of `done`. */
  work(tokens: SpooledTokens, first: number): Promise<R>;
  /** A batch's work is done, in order; returns the values of the output's tensors. */
  done(result: R, tokens: SpooledTokens): readonly (Uint16Array | Float32Array | Int32Array)[];
}

/** How much a {@linkcode runTokenJob} went through. */
export interface TokenCounts {
  readonly tokens: number;
  readonly requests: number;
  readonly dead: number;
}

/**
 * Runs a job over all tokens of `input`. With an output they are tokenized to disk first, because
 * a file's header states how many there are; without one they are worked on as they come.
 */
export async function runTokenJob<R>(
  input: Pick<TokenInput, "chunks">,
  job: TokenJob<R>,
  { signal, progress }: Pick<Context, "signal" | "progress">,
): Promise<TokenCounts> {
  const { output } = job;
  using spool = output && new TokenSpool(output.path);
  if (spool) { for await (const chunk of input.chunks()) spool.append(chunk); }
  if (spool) job.checkTokens?.(spool.tokens);
  using file = output && openTokenOutput(output.path, {
    ...output.plan,
    tokens: spool!.tokens,
    starts: spool!.starts,
  });
  const bar = spool && progress(job.label, spool.tokens, "tokens");
  const counts = { tokens: 0, requests: 0, dead: 0 };
  let first = 0;
  const work = async (tokens: SpooledTokens) => {
    const at = first;
    first += tokens.tokenIds.length;
    return { tokens, result: await job.work(tokens, at) };
  };
  const pieces = spool ? spool.read(job.batch) : regroupTokens(input.chunks(), job.batch);
  try {
    for await (const { tokens, result } of inOrder(pieces, work, signal)) {
      const values = job.done(result, tokens);
      file?.append(tokens, values);
      counts.tokens += tokens.tokenIds.length;
      counts.requests += tokens.starts.length;
      for (const flag of tokens.dead) counts.dead += flag;
      bar?.advance(tokens.tokenIds.length);
    }
  } finally {
    bar?.stop();
  }
  file?.commit();
  // Requests without tokens at the end are in no piece of a spool.
  return spool ? { ...counts, requests: spool.starts.length } : counts;
}
