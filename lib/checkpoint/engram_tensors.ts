import type { Tensor } from "../safetensors/tensor.ts";

/** The six tensors an Engram layer can have. */
export type EngramPart =
  | "embed.weight"
  | "embed.scale"
  | "wkv.weight"
  | "wkv.scale"
  | "q_weight"
  | "k_weight";

/** Every name the parts go by behind `layers.N.engram.`, the released one first. */
const SPELLINGS: Readonly<Record<EngramPart, readonly string[]>> = {
  "embed.weight": [
    "embed.weight",
    "embed_tokens.weight",
    "embed.e4m3_e8m0_32_row264",
    "e4m3_e8m0_32_row264",
  ],
  "embed.scale": ["embed", "embed_tokens"].flatMap(scales),
  "wkv.weight": ["wkv.weight"],
  "wkv.scale": scales("wkv"),
  q_weight: ["q_weight"],
  k_weight: ["k_weight"],
};

function scales(module: string): string[] {
  return ["scale", "weight_scale", "weight_scale_inv", "scale_inv"].map((end) =>
    `${module}.${end}`
  );
}

const PART_OF = new Map<string, EngramPart>(
  Object.entries(SPELLINGS).flatMap(([part, names]) =>
    names.map((name): [string, EngramPart] => [name, part as EngramPart])
  ),
);

const NAME = /^(?:(?:model|language_model|text_model)\.)*layers\.(0|[1-9]\d{0,9})\.engram\.(.+)$/;

/** What a tensor's name says: its layer and part; `part` null for one that no engine is known to have. */
export interface EngramName {
  /** The decoder layer. */
  readonly layerId: number;
  /** Which of the six tensors. */
  readonly part: EngramPart | null;
}

/** Reads a tensor's name; null where it belongs to no Engram layer. */
export function engramName(name: string): EngramName | null {
  // Most names of a model are of other parts; this is many times faster than the pattern.
  const match = name.includes(".engram.") ? NAME.exec(name) : null;
  if (!match) return null;
  return { layerId: Number(match[1]), part: PART_OF.get(match[2]) ?? null };
}

/** One layer's tensors as they were found. */
export interface LayerTensors {
  /** The decoder layer. */
  readonly layerId: number;
  /** The tensors by part. */
  readonly parts: ReadonlyMap<EngramPart, Tensor>;
  /** Further tensors of a part that is there already, under another of its names. */
  readonly doubles: readonly Tensor[];
  /** Tensors under `engram.` that no engine is known to have. */
  readonly unknown: readonly Tensor[];
}

/** The Engram layers among `tensors`, by layer id, ascending. */
export function engramTensors(tensors: Iterable<Tensor>): ReadonlyMap<number, LayerTensors> {
  const found = new Map<number, {
    layerId: number;
    parts: Map<EngramPart, Tensor>;
    doubles: Tensor[];
    unknown: Tensor[];
  }>();
  for (const tensor of tensors) {
    const name = engramName(tensor.name);
    if (!name) continue;
    const { layerId, part } = name;
    let layer = found.get(layerId);
    if (!layer) found.set(layerId, layer = { layerId, parts: new Map(), doubles: [], unknown: [] });
    if (part === null) layer.unknown.push(tensor);
    else if (layer.parts.has(part)) layer.doubles.push(tensor);
    else layer.parts.set(part, tensor);
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}
