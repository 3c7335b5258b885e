import type { Tensor } from "../safetensors/tensor.ts";
import type { EngramConfig } from "./engram_config.ts";
import { says } from "./parse_config.ts";
import { named } from "./table_shape.ts";

/** The tensors of a layer's projection and gate, as far as they are there. */
export interface ModuleTensors {
  /** `wkv.weight`. */
  readonly weight: Tensor | null;
  /** `wkv.scale`. */
  readonly scale: Tensor | null;
  /** `q_weight`. */
  readonly qWeight: Tensor | null;
  /** `k_weight`. */
  readonly kWeight: Tensor | null;
}

/** A tensor that does not fit the config, and why. */
export interface ModuleFault {
  /** The tensor. */
  readonly tensor: Tensor;
  /** What it is and what was wanted. */
  readonly message: string;
}

/** Checks dtypes and shapes of the projection and gate against the config, as far as it speaks. */
export function moduleFaults(config: EngramConfig, tensors: ModuleTensors): ModuleFault[] {
  const { weight, scale, qWeight, kWeight } = tensors;
  const faults: ModuleFault[] = [];
  const want = (tensor: Tensor, dtypes: readonly string[], shape: readonly number[] | null) => {
    const fits = shape === null ||
      tensor.shape.length === shape.length && shape.every((n, i) => n === tensor.shape[i]);
    if (fits && dtypes.includes(tensor.dtype)) return;
    const wanted = `${dtypes.join(" or ")}${shape ? ` [${shape.join(", ")}]` : ""}`;
    faults.push({ tensor, message: `${named(tensor)}, wanted ${wanted}` });
  };
  const sized = says(config, "hiddenSize") && says(config, "hcMult");
  const gate = sized ? [config.hcMult, config.hiddenSize] : null;
  if (qWeight) want(qWeight, ["BF16"], gate);
  if (kWeight) want(kWeight, ["BF16"], gate);
  if (!weight) return faults;
  const columns = (config.maxNgramSize - 1) * config.nHeads;
  const product = sized
    ? [(config.hcMult + 1) * config.hiddenSize, columns * config.headDim]
    : null;
  want(weight, ["F8_E4M3", "BF16"], product);
  if (!scale) return faults;
  if (weight.dtype !== "F8_E4M3") {
    faults.push({
      tensor: scale,
      message: `${named(scale)} beside ${weight.dtype} weights, which take no scales`,
    });
  } else if (weight.shape.length === 2) {
    const tiles = weight.shape.map((size, i) => Math.ceil(size / config.weightBlockSize[i]));
    want(scale, ["F8_E8M0", "U8"], tiles);
  }
  return faults;
}
