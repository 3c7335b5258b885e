import { type EngramLayer, moduleOf } from "../checkpoint/checkpoint.ts";
import type { EngramConfig } from "../checkpoint/engram_config.ts";
import { readTensor } from "../safetensors/read_tensor.ts";
import type { RowStore } from "../table/row_store.ts";
import type { RunnerLayer } from "./engram_runner.ts";
import type { Bf16, GateWeights, ProjectionWeights } from "./kernels.ts";
import type { Tensor } from "../safetensors/tensor.ts";

/**
 * Reads a layer's projection and gate weights into memory (157 MB at the released sizes); its rows
 * stay where `store` keeps them.
 *
 * @throws an {@linkcode EngramError} where a tensor is not in what was opened.
 */
export async function loadLayer(
  layer: EngramLayer,
  config: EngramConfig,
  store: RowStore,
): Promise<RunnerLayer> {
  const { wkv, qWeight, kWeight } = moduleOf(layer);
  const [outFeatures, inFeatures] = wkv.weight.shape;
  const codes = await readTensor(wkv.weight);
  const projection: ProjectionWeights = {
    outFeatures,
    inFeatures,
    block: config.weightBlockSize,
    ...(wkv.scale
      ? { codes, scales: await readTensor(wkv.scale) }
      : { codes: new Uint16Array(codes.buffer) }),
  };
  const gate: GateWeights = {
    hidden: config.hiddenSize,
    copies: config.hcMult,
    q: await readBf16(qWeight),
    k: await readBf16(kWeight),
    eps: config.rmsNormEps,
  };
  return { store, projection, gate };
}

async function readBf16(tensor: Tensor): Promise<Bf16> {
  return new Uint16Array((await readTensor(tensor)).buffer);
}
