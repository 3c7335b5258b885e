import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import { KernelRunner } from "../engram/kernel_runner.ts";
import type { Kernels } from "../engram/kernels.ts";
import { layerIds } from "../engram/layer_ids.ts";
import { loadLayer } from "../engram/load_layer.ts";
import { lookUpRows } from "../engram/look_up_rows.ts";
import { SeededHidden } from "../engram/seeded_hidden.ts";
import { fileStore } from "../table/file_store.ts";
import type { Constants } from "./constants.ts";
import { tokenArrays, type VectorCase, vectorIds } from "./vectors_cases.ts";
import type { VectorTokens } from "./vectors_tokens.ts";

/** Tokens whose rows, and whose gates, are written: a few megabytes at the released sizes. */
const ROW_TOKENS = 32;
const GATE_TOKENS = 12;

/** Seed of the stream that enters the gates. */
const SEED = 1;

/** The cases that need a checkpoint's weights. */
export async function moduleCases(
  constants: Constants,
  checkpoint: Checkpoint,
  kernels: Kernels,
  tokens: VectorTokens,
): Promise<VectorCase[]> {
  return [
    await rowsCase(constants, checkpoint, kernels, first(tokens, ROW_TOKENS)),
    await gatesCase(constants, checkpoint, kernels, first(tokens, GATE_TOKENS)),
  ];
}

/** The first tokens, of as many requests as they are of. */
function first({ tokenIds, dead, starts }: VectorTokens, most: number): VectorTokens {
  return {
    tokenIds: tokenIds.slice(0, most),
    dead: dead.slice(0, most),
    starts: starts.filter((start) => start < Math.min(most, tokenIds.length)),
  };
}

async function rowsCase(
  constants: Constants,
  checkpoint: Checkpoint,
  kernels: Kernels,
  tokens: VectorTokens,
): Promise<VectorCase> {
  const { layout, headDim } = constants;
  const ids = vectorIds(constants, tokens);
  const count = tokens.tokenIds.length;
  const arrays = [];
  for (const [index, { layerId }] of layout.layers.entries()) {
    const store = fileStore(checkpoint.layer(layerId));
    const own = layerIds(ids, index, layout.layers.length, layout.columns);
    arrays.push({
      name: `layers.${layerId}.rows`,
      dtype: "BF16" as const,
      shape: [count, layout.columns, headDim],
      data: await lookUpRows(kernels, store, own),
      says: "output: the rows of each token's row numbers [tokens, columns, head_dim]",
    });
  }
  return {
    file: "rows.safetensors",
    says: "Rows looked up for tokens, of every layer; exact to the bit, any NaN is right.",
    arrays: [...tokenArrays(tokens), ...arrays],
  };
}

async function gatesCase(
  constants: Constants,
  checkpoint: Checkpoint,
  kernels: Kernels,
  tokens: VectorTokens,
): Promise<VectorCase> {
  const { layout, compressedPadId, hcMult, hiddenSize, tokenMap: { map } } = constants;
  const count = tokens.tokenIds.length;
  const hidden = new SeededHidden(SEED, hcMult, hiddenSize);
  const arrays = [];
  for (const { layerId } of layout.layers) {
    const layer = checkpoint.layer(layerId);
    // One layer at a time: its projection alone is 157 MB at the released sizes.
    const loaded = await loadLayer(layer, checkpoint.config, fileStore(layer));
    const of = layout.layers.filter((one) => one.layerId === layerId);
    const runner = new KernelRunner(kernels, { ...layout, layers: of }, compressedPadId, [loaded]);
    const stream = await hidden.read(layerId, 0, count);
    const starts = tokens.starts;
    const [{ gate, output, kv }] = await runner.run({
      batch: {
        ids: tokens.tokenIds.map((id) => map[id]),
        positions: Float64Array.from(
          tokens.tokenIds,
          (_, t) => t - starts.findLast((start) => start <= t)!,
        ),
        starts: Int32Array.of(...starts, count),
        dead: tokens.dead,
        windowDepth: 0,
      },
      streams: [stream],
      mask: tokens.dead.map((dead) => 1 - dead),
      keep: { kv: true },
    });
    const name = (part: string) => `layers.${layerId}.${part}`;
    arrays.push(
      {
        name: name("hidden"),
        dtype: "BF16" as const,
        shape: [count, hcMult, hiddenSize],
        data: stream,
        says: "input: the stream that enters the layer [tokens, copies, hidden]",
      },
      {
        name: name("kv"),
        dtype: "BF16" as const,
        shape: [count, (hcMult + 1) * hiddenSize],
        data: kv!,
        says: "output: the keys of each copy, then the value [tokens, (copies + 1) * hidden]",
      },
      {
        name: name("gate"),
        dtype: "F32" as const,
        shape: [count, hcMult],
        data: gate,
        says: "output: the gate [tokens, copies]; 0 for dead tokens",
      },
      {
        name: name("output"),
        dtype: "BF16" as const,
        shape: [count, hcMult, hiddenSize],
        data: output,
        says: "output: the stream behind the layer [tokens, copies, hidden]",
      },
    );
  }
  return {
    file: "gates.safetensors",
    says: "The module as a whole: rows, projection and gate. Sums are in another order in every " +
      "engine, so keys, values, gates and outputs are compared within a tolerance.",
    arrays: [...tokenArrays(tokens), ...arrays],
  };
}
