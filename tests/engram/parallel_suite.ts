import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import type { Kernels } from "../../lib/engram/kernels.ts";
import { loadLayer } from "../../lib/engram/load_layer.ts";
import { lookUpRows } from "../../lib/engram/look_up_rows.ts";
import { ParallelLayer, type ParallelOutput } from "../../lib/engram/parallel_layer.ts";
import { RankEmbedding, type RankRows } from "../../lib/engram/rank_embedding.ts";
import { rankSpans, type Split } from "../../lib/layout/rank_spans.ts";
import { planShards } from "../../lib/shards/shard_plan.ts";
import { openShards } from "../../lib/shards/shard_set.ts";
import { sourceIdentities } from "../../lib/shards/source_identity.ts";
import { writeShards } from "../../lib/shards/write_shards.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { memoryStore } from "../../lib/table/memory_store.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { randomBf16 } from "../kernels/bf16_oracle.ts";
import { Random } from "../kernels/random.ts";
import { type ModelSizes, SyntheticModel } from "./synthetic_model.ts";

const SIZES: ModelSizes = {
  layerIds: [3],
  maxNgramSize: 4,
  nHeads: 4, // 12 columns: fewer than the ranks of most splits
  headDim: 8,
  vocabSize: 20,
  hidden: 9,
  copies: 2,
  eps: 1e-6,
};

const TOKENS = 40;

/** Every split of the module equals the whole, on one backend. */
export function parallelSuite(
  backend: string,
  open: () => Promise<Kernels>,
  options: { ignore?: boolean; everyTp?: boolean } = {},
): void {
  const { ignore = false, everyTp = true } = options;
  const test = (name: string, fn: (kernels: Kernels, model: SyntheticModel) => Promise<void>) =>
    Deno.test({
      name: `${name} on the ${backend}`,
      ignore,
      fn: async () => {
        const kernels = await open();
        try {
          await fn(kernels, new SyntheticModel(SIZES, 8));
        } finally {
          kernels.close();
        }
      },
    });

  test(
    "tensor and sequence parallel equal the whole, every tp and token count",
    async (kernels, model) => {
      const whole = new Whole(kernels, model);
      const ranks = Array.from({ length: 33 }, (_, i) => i + 1);
      for (const tp of everyTp ? ranks : [1, 3, 5, 12]) {
        const layer = whole.parallel(tp, 1, "heads");
        for (const tokens of everyTp ? range(0, TOKENS) : [0, 1, tp + 1]) {
          for (const masked of [false, true]) {
            await whole.check(layer, tokens, masked, `tp ${tp}, ${tokens} tokens`);
          }
        }
      }
    },
  );

  test("tp × dp and other splits equal the whole", async (kernels, model) => {
    const whole = new Whole(kernels, model);
    for (const [tp, dp, split] of [[2, 3, "heads"], [3, 5, "strided"], [7, 2, "rows"]] as const) {
      const layer = whole.parallel(tp, dp, split);
      for (const tokens of [0, 1, 17]) {
        const given = whole.input(tokens, false);
        const found = await layer.forward(given);
        assertSameOutput(found, await whole.forward(tokens, false), `${tp} × ${dp} ${split}`);
      }
    }
  });

  test(
    "ranks that read shard files equal ranks that read the checkpoint",
    async (kernels, model) => {
      await inFolder(async (root) => {
        const folder = model.write(join(root, "model"));
        const checkpoint = await openCheckpoint(folder);
        try {
          const { config } = checkpoint;
          const [layer] = checkpoint.layers;
          for (
            const [tp, split] of [[1, "heads"], [5, "heads"], [13, "strided"], [4, "rows"]] as const
          ) {
            const shardFolder = join(root, `shards-${tp}-${split}`);
            const identities = await sourceIdentities(checkpoint);
            const plans = planShards(checkpoint, model.layout, { tp, split }, identities);
            await writeShards(plans, shardFolder);
            const shards = await openShards(shardFolder, model.layout, config.headDim);
            try {
              const whole = new Whole(kernels, model);
              const fromShards = await whole.ranks(tp, 1, split, (rank) => ({
                store: fileStore(shards.layer(rank, 3)),
                whole: false,
              }));
              const weights = await loadLayer(shards.layer(tp - 1, 3), config, fileStore(layer));
              const parallel = new ParallelLayer(kernels, fromShards, 12, weights);
              for (const tokens of [0, 1, 23]) {
                assertSameOutput(
                  await parallel.forward(whole.input(tokens, true)),
                  await whole.forward(tokens, true),
                  `${tp} shards by ${split}`,
                );
              }
            } finally {
              shards.close();
            }
          }
        } finally {
          checkpoint.close();
        }
      });
    },
  );

  test(
    "a rank's embedding: its own columns, foreign ids and padding columns zeros",
    async (kernels, model) => {
      const whole = new Whole(kernels, model);
      for (const rank of whole.ranks(5, 1, "heads")) { // ceil(12 / 5) = 3: ranks own 3 3 3 3 0
        const { columns, localColumns } = rank.span;
        assert.equal(localColumns, 3);
        assert.equal(columns.length, rank.span.rank === 4 ? 0 : 3);
        const ids = whole.input(20, false).ids.slice();
        // Ids that lie in another rank's columns, and none at all.
        for (let i = 0; i < ids.length; i += 5) {
          ids[i] = [0, model.layout.layers[0].rows - 1, -1][i % 3];
        }
        const found = await rank.lookup(ids, 12);
        assert.equal(found.length, 20 * 3 * 8);
        for (let place = 0; place < 60; place++) {
          const column = columns[place % 3];
          const id = column === undefined ? -1 : ids[Math.floor(place / 3) * 12 + column];
          const held = id >= rank.span.rowStart && id < rank.span.rowEnd;
          assert.deepEqual(
            found.slice(place * 8, place * 8 + 8),
            held ? model.rows(0, [id]) : new Uint16Array(8),
          );
        }
      }
    },
  );
}

/** The unsharded layer of a synthetic model, and parallel ones that must equal it. */
class Whole {
  readonly kernels: Kernels;
  readonly model: SyntheticModel;
  readonly #ids: Int32Array;
  readonly #stream: Uint16Array;
  readonly #mask: Uint8Array;
  readonly #forwarded = new Map<string, Promise<ParallelOutput>>();

  constructor(kernels: Kernels, model: SyntheticModel) {
    this.kernels = kernels;
    this.model = model;
    const random = new Random(4);
    const tokenIds = Array.from({ length: TOKENS }, () => random.below(2000));
    this.#ids = Int32Array.from(model.ids(tokenIds, []).flat());
    this.#stream = randomBf16(random, TOKENS * 18);
    this.#mask = Uint8Array.from({ length: TOKENS }, () => random.below(3) ? 1 : 0);
  }

  input(tokens: number, masked: boolean) {
    return {
      tokens,
      ids: this.#ids.subarray(0, tokens * 12),
      stream: this.#stream.subarray(0, tokens * 18),
      ...(masked && { mask: this.#mask.subarray(0, tokens) }),
    };
  }

  /** What one device that holds everything computes. */
  forward(tokens: number, masked: boolean): Promise<ParallelOutput> {
    const key = `${tokens} ${masked}`;
    let found = this.#forwarded.get(key);
    if (!found) this.#forwarded.set(key, found = this.#forward(tokens, masked));
    return found;
  }

  async #forward(tokens: number, masked: boolean): Promise<ParallelOutput> {
    const { weights, gate } = this.model.layers[0];
    const { ids, stream, mask } = this.input(tokens, masked);
    const rows = await lookUpRows(this.kernels, this.#store, ids);
    const kv = await this.kernels.project(weights, rows, tokens);
    const gated = await this.kernels.gate(gate, { tokens, stream, kv, ...(mask && { mask }) });
    return { ...gated, rows, kv };
  }

  ranks(
    tp: number,
    dp: number,
    split: Split,
    rowsOf: (rank: number) => RankRows = () => ({ store: this.#store, whole: true }),
  ): RankEmbedding[] {
    return rankSpans(this.model.layout.layers[0], { tp, dp, split }).map((span) =>
      new RankEmbedding(this.kernels, span, rowsOf(span.rank))
    );
  }

  parallel(tp: number, dp: number, split: Split): ParallelLayer {
    const { weights: projection, gate } = this.model.layers[0];
    return new ParallelLayer(this.kernels, this.ranks(tp, dp, split), 12, { projection, gate });
  }

  /** Compares both ways of running with the whole, bit for bit. */
  async check(layer: ParallelLayer, tokens: number, masked: boolean, what: string): Promise<void> {
    const given = this.input(tokens, masked);
    const wanted = await this.forward(tokens, masked);
    assertSameOutput(await layer.forward(given), wanted, what);
    const parts = await layer.forwardSequence(given);
    const chunk = Math.ceil(tokens / layer.ranks);
    parts.forEach((part, rank) => {
      const first = Math.min(rank * chunk, tokens);
      const own = Math.min(first + chunk, tokens) - first;
      for (const name of NAMES) {
        const width = { rows: 96, kv: 27, gate: 2, output: 18 }[name];
        const [found, whole] = [part[name], wanted[name]];
        assert.equal(found.length, chunk * width);
        assertSame(
          found.subarray(0, own * width),
          whole.subarray(first * width, (first + own) * width),
          `${name} of rank ${rank}, sequence parallel, ${what}`,
        );
        // Padding tokens leave the zeros of their stream unchanged.
        if (name !== "kv") assert.ok(found.subarray(own * width).every((value) => value === 0));
      }
    });
  }

  get #store() {
    const { encoding, codes, scales } = this.model.layers[0];
    return memoryStore({ encoding, codes, scales });
  }
}

const NAMES = ["rows", "kv", "gate", "output"] as const;

/** Bit for bit; much faster than a deep comparison. */
function assertSame(found: ArrayBufferView, wanted: ArrayBufferView, what: string): void {
  const bytes = (view: ArrayBufferView) =>
    Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  assert.ok(bytes(found).equals(bytes(wanted)), what);
}

function assertSameOutput(found: ParallelOutput, wanted: ParallelOutput, what: string): void {
  for (const name of NAMES) assertSame(found[name], wanted[name], `${name} of ${what}`);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
