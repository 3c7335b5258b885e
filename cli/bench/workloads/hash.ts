import { buildLayout } from "../../../lib/layout/build_layout.ts";
import type { Layout } from "../../../lib/layout/layout.ts";
import type { HashBatch } from "../../../lib/hash/hash_batch.ts";
import { NgramHasher } from "../../../lib/hash/ngram_hasher.ts";
import { quietVulkan } from "../../quiet_vulkan.ts";
import { RELEASED } from "../released.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";
import { benchIds } from "../bench_ids.ts";
import { numpyHash } from "../numpy_hash.ts";
import { oneRequest } from "../one_request.ts";
import { distinct } from "../id_streams.ts";

/** Hashing alone: compressed ids in memory to row ids in memory, all layers of the layout. */
export async function* hashWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  const { layout, padId } = await layoutOf(request);
  const cells = layout.layers.length * layout.columns;
  for (const tokens of request.tokens) {
    for (const kind of request.ids) {
      const { ids, warnings } = await benchIds(request, kind, tokens, layout.compressedVocabSize);
      const batch = oneRequest(ids);
      const work = {
        tokens,
        rows: tokens * cells,
        distinctRows: distinct(new NgramHasher(layout, padId).hash(batch)),
        bytes: tokens * (4 + cells * 4),
      };
      const shared = {
        name: "hash",
        parameters: { tokens, ids: kind },
        work,
        counted:
          `4 bytes in and ${cells} × 4 bytes out a token, all ${layout.layers.length} layers`,
        warnings,
      };
      const hasher = new NgramHasher(layout, padId);
      yield {
        ...shared,
        variant: "CPU, one core",
        role: "case",
        excluded: "tokenizing, mapping, making the hasher",
        samples: await sample(() => void hasher.hash(batch), request.sampling),
        gpuSamples: null,
      };
      yield {
        ...shared,
        variant: "BigInt",
        role: "baseline",
        excluded: "tokenizing, mapping",
        samples: await sample(() => bigintHash(layout, padId, ids), {
          ...request.sampling,
          warmup: Math.min(1, request.sampling.warmup),
        }),
        gpuSamples: null,
      };
      yield* numpyCase(request, layout, padId, ids, shared);
      yield* gpuCases(request, layout, padId, batch, shared);
    }
  }
}

type Shared = Pick<BenchResult, "name" | "parameters" | "work" | "counted" | "warnings">;

async function* numpyCase(
  request: BenchRequest,
  layout: Layout,
  padId: number,
  ids: Int32Array,
  shared: Shared,
): AsyncIterable<BenchResult> {
  const numpy = request.python ? await numpyHash(layout, padId, ids, request) : null;
  if (!numpy) return;
  const ours = new NgramHasher(layout, padId).hash(oneRequest(ids));
  const differs = numpy.hashed.findIndex((row, i) => row !== ours[i]);
  yield {
    ...shared,
    variant: "numpy, whole arrays",
    role: "case",
    excluded: "tokenizing, mapping, loading Python",
    samples: numpy.samples,
    gpuSamples: null,
    warnings: [
      ...shared.warnings,
      ...(differs < 0 ? [] : [`numpy gives other rows, first at value ${differs}`]),
    ],
  };
}

async function* gpuCases(
  request: BenchRequest,
  layout: Layout,
  padId: number,
  batch: HashBatch,
  shared: Shared,
): AsyncIterable<BenchResult> {
  if (request.device === "cpu") return;
  quietVulkan();
  const { openKernels } = await import("../../../lib/gpu/open_kernels.ts");
  const { kernels, note } = await openKernels(request.device);
  try {
    if (kernels.device !== "gpu") return request.note(note);
    yield {
      ...shared,
      variant: kernels.description,
      role: "case",
      excluded: "tokenizing, mapping, compiling; upload and download are in the time",
      samples: await sample(async () => {
        await kernels.hash(layout, padId, batch);
      }, request.sampling),
      gpuSamples: null,
    };
  } finally {
    kernels.close();
  }
}

async function layoutOf(request: BenchRequest): Promise<{ layout: Layout; padId: number }> {
  if (request.checkpoint === null) return { layout: buildLayout(RELEASED), padId: 1 };
  const { openCheckpoint } = await import("../../../lib/checkpoint/open_checkpoint.ts");
  const checkpoint = await openCheckpoint(request.checkpoint);
  try {
    // Any pad id takes the same time; the real one needs the tokenizer.
    return {
      layout: buildLayout(checkpoint.config),
      padId: 0,
    };
  } finally {
    checkpoint.close();
  }
}

/** The hash as its definition reads, for comparison: one long request, no dead tokens. */
function bigintHash(layout: Layout, padId: number, ids: Int32Array): void {
  const pad = BigInt(padId);
  const out = new Int32Array(ids.length * layout.layers.length * layout.columns);
  let at = 0;
  for (let p = 0; p < ids.length; p++) {
    for (const { multipliers, primes, offsets } of layout.layers) {
      let rolling = BigInt(ids[p]) * multipliers[0];
      for (let s = 1; s < layout.maxNgramSize; s++) {
        rolling ^= (p >= s ? BigInt(ids[p - s]) : pad) * multipliers[s];
        for (let h = 0; h < layout.nHeads; h++) {
          const column = (s - 1) * layout.nHeads + h;
          out[at++] = Number(rolling % BigInt(primes[s - 1][h])) + offsets[column];
        }
      }
    }
  }
}
