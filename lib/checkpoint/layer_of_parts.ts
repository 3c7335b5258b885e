import type { EngramLayer } from "./checkpoint.ts";
import type { LayerTensors } from "./engram_tensors.ts";
import { tableShape } from "./table_shape.ts";

/**
 * A layer made of the tensors that are there, or a sentence that says why they are none. Its table
 * has to be; projection and gate may be missing, and are not compared with any config.
 *
 * @param headDim Values in a row as the config says; null to take it from the tensor.
 */
export function layerOfParts(
  { layerId, parts }: Pick<LayerTensors, "layerId" | "parts">,
  headDim: number | null,
): EngramLayer | string {
  const weight = parts.get("embed.weight");
  if (!weight) return `it has no table of layer ${layerId}`;
  const scale = parts.get("embed.scale") ?? null;
  const shape = tableShape(weight, scale, headDim);
  if (typeof shape === "string") return shape;
  const wkv = parts.get("wkv.weight");
  return {
    layerId,
    ...shape,
    embed: { weight, scale },
    wkv: wkv ? { weight: wkv, scale: parts.get("wkv.scale") ?? null } : null,
    qWeight: parts.get("q_weight") ?? null,
    kWeight: parts.get("k_weight") ?? null,
  };
}
