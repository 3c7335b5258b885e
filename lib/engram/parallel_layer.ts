import type { RankSpan } from "../layout/rank_spans.ts";
import type { RunnerLayer } from "./engram_runner.ts";
import type { Bf16, GateOutput, Kernels } from "./kernels.ts";
import { gatherColumns, type RankEmbedding } from "./rank_embedding.ts";

/** What a layer works on: ids [T, columns], the stream bf16 [T, copies, hidden], and a mask [T]. */
export interface ParallelInput {
  /** T. */
  readonly tokens: number;
  /** Row numbers [T, columns]. */
  readonly ids: Int32Array;
  /** bf16 [T, copies, hidden]. */
  readonly stream: Bf16;
  /** 1 keeps, 0 lets the stream pass unchanged, [T]; absent keeps all. */
  readonly mask?: Uint8Array;
}

/** What one rank gives, and what it computed it from. */
export interface ParallelOutput extends GateOutput {
  /** bf16 [tokens, columns, headDim]. */
  readonly rows: Bf16;
  /** bf16 [tokens, (copies + 1) * hidden]. */
  readonly kv: Bf16;
}

/**
 * One layer of the module over tp × dp ranks, all of them in this process. The embedding is split;
 * projection and gate are whole on every rank.
 */
export class ParallelLayer {
  readonly #kernels: Kernels;
  readonly #ranks: readonly RankEmbedding[];
  readonly #columns: number;
  readonly #headDim: number;
  readonly #weights: Pick<RunnerLayer, "projection" | "gate">;

  /** A layer of `columns` columns, its rows split over `ranks` (tp-major, all of them). */
  constructor(
    kernels: Kernels,
    ranks: readonly RankEmbedding[],
    columns: number,
    weights: Pick<RunnerLayer, "projection" | "gate">,
  ) {
    this.#kernels = kernels;
    this.#ranks = ranks;
    this.#columns = columns;
    this.#headDim = weights.projection.inFeatures / columns;
    this.#weights = weights;
  }

  /** Tensor parallel: every rank gathers all columns of all tokens and has the whole result. */
  async forward({ tokens, ids, stream, mask }: ParallelInput): Promise<ParallelOutput> {
    const parts = await this.#lookup(ids);
    const rows = gatherColumns(this.#spans, parts, this.#columns, this.#headDim);
    return await this.#compute(tokens, rows, stream, mask);
  }

  /**
   * Sequence parallel: rank r of `tp` holds tokens [r * chunk, (r + 1) * chunk), chunk =
   * ceil(T / tp), and computes only those. One result for each rank, of chunk tokens; those past
   * the end are padding, and leave the zeros of their stream unchanged.
   */
  async forwardSequence(input: ParallelInput): Promise<ParallelOutput[]> {
    const { tokens, ids, stream, mask } = input;
    const tp = this.#ranks.length;
    const { localColumns } = this.#ranks[0].span;
    const parts = await this.#lookup(ids);
    const gathered = new Uint16Array(tp * tokens * localColumns * this.#headDim);
    parts.forEach((part, rank) => gathered.set(part, rank * part.length));
    const chunk = Math.ceil(tokens / tp);
    const width = tokens ? stream.length / tokens : 0;
    const outputs: ParallelOutput[] = [];
    for (let rank = 0; rank < tp; rank++) {
      const rows = await this.#kernels.relay({
        tp,
        rank,
        tokens,
        localColumns,
        columns: this.#columns,
        headDim: this.#headDim,
        gathered,
      });
      const first = Math.min(rank * chunk, tokens);
      const end = Math.min(first + chunk, tokens);
      const own = new Uint16Array(chunk * width);
      own.set(stream.subarray(first * width, end * width));
      const kept = new Uint8Array(chunk);
      if (mask) kept.set(mask.subarray(first, end));
      else kept.fill(1, 0, end - first);
      outputs.push(await this.#compute(chunk, rows, own, kept));
    }
    return outputs;
  }

  /** How many ranks there are. */
  get ranks(): number {
    return this.#ranks.length;
  }

  get #spans(): RankSpan[] {
    return this.#ranks.map((rank) => rank.span);
  }

  async #lookup(ids: Int32Array): Promise<Bf16[]> {
    const parts: Bf16[] = [];
    for (const rank of this.#ranks) parts.push(await rank.lookup(ids, this.#columns));
    return parts;
  }

  async #compute(
    tokens: number,
    rows: Bf16,
    stream: Bf16,
    mask: Uint8Array | undefined,
  ): Promise<ParallelOutput> {
    const { projection, gate } = this.#weights;
    const kv = await this.#kernels.project(projection, rows, tokens);
    const gated = await this.#kernels.gate(gate, { tokens, stream, kv, ...(mask && { mask }) });
    return { ...gated, rows, kv };
  }
}
