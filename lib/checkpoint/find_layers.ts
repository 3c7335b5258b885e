import { EngramError } from "../errors.ts";
import type { ErrorKind } from "../errors.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import type { EngramLayer } from "./checkpoint.ts";
import type { CheckpointFiles } from "./checkpoint_files.ts";
import { type EngramPart, engramTensors, type LayerTensors } from "./engram_tensors.ts";
import type { EngramConfig } from "./engram_config.ts";
import { moduleFaults } from "./module_shape.ts";
import { rowEncoding } from "./row_encoding.ts";
import { scaleName, tableShape } from "./table_shape.ts";

/** Something that does not fit: a tensor that is missing, of a wrong shape or of a wrong dtype. */
export interface LayerFault {
  /** The failure it becomes when the checkpoint is opened. */
  readonly kind: ErrorKind;
  /** The tensor's name. */
  readonly tensor: string;
  /** The file it is in, or should be in, where that is known. */
  readonly file: string | null;
  /** Whether a tensor is not there at all: no fault of a file that is one of several. */
  readonly missing: boolean;
  /** The whole of it in a sentence. */
  readonly message: string;
}

/** The layers a config promises, as far as they are there, and all that does not fit. */
export interface FoundLayers {
  /** Layers that can be used, in the config's order. */
  readonly layers: readonly EngramLayer[];
  /** What makes a checkpoint unusable. */
  readonly faults: readonly LayerFault[];
  /** What is only odd. */
  readonly warnings: readonly string[];
}

/** Finds the Engram layers of `config` among the tensors and checks names, dtypes and shapes. */
export function findLayers(files: CheckpointFiles, config: EngramConfig): FoundLayers {
  if (files.files.size === 0 && !files.index) return layersOfConfig(config);
  const found = engramTensors(files.tensors.values());
  const layers: EngramLayer[] = [];
  const faults: LayerFault[] = [];
  const warnings: string[] = [];
  config.layerIds.forEach((layerId, i) => {
    const tensors = found.get(layerId);
    if (!tensors && files.single) {
      warnings.push(`layer ${layerId} is not in this file`);
      return;
    }
    const finder = new LayerFinder(files, config, tensors ?? EMPTY(layerId));
    const layer = finder.find(config.numEmbeddings?.[i] ?? null);
    faults.push(...finder.faults);
    warnings.push(...finder.warnings);
    if (layer) layers.push(layer);
  });
  for (const [id, { parts }] of found) {
    if (config.layerIds.includes(id)) continue;
    const name = [...parts.values()][0]?.name ?? `layers.${id}.engram`;
    warnings.push(`tensor ${JSON.stringify(name)} belongs to layer ${id}, not in engram_layer_ids`);
  }
  if (layers.length === 0 && faults.length === 0) {
    faults.push({
      kind: "malformed",
      tensor: partName(config.layerIds[0], "embed.weight", EMPTY(config.layerIds[0])),
      file: [...files.files.values()][0]?.source.name ?? null,
      missing: true,
      message: `no Engram tensors in it, wanted those of layer ${config.layerIds.join(" or ")}`,
    });
  }
  return { layers, faults, warnings };
}

const EMPTY = (layerId: number): LayerTensors => ({
  layerId,
  parts: new Map(),
  doubles: [],
  unknown: [],
});

/** Without tensors: the sizes the config gives, in the released encoding. */
function layersOfConfig(config: EngramConfig): FoundLayers {
  const layers = config.layerIds.map((layerId, i): EngramLayer => ({
    layerId,
    encoding: rowEncoding("fp8", config.headDim),
    rows: config.numEmbeddings?.[i] ?? 0,
    packed: false,
    embed: null,
    wkv: null,
    qWeight: null,
    kWeight: null,
  }));
  return { layers, faults: [], warnings: [] };
}

/** Finds and checks one layer. */
class LayerFinder {
  readonly faults: LayerFault[] = [];
  readonly warnings: string[] = [];

  constructor(
    readonly files: CheckpointFiles,
    readonly config: EngramConfig,
    readonly tensors: LayerTensors,
  ) {}

  find(numEmbeddings: number | null): EngramLayer | null {
    const { config, tensors } = this;
    for (const double of tensors.doubles) {
      this.#fault(double.name, `tensor ${JSON.stringify(double.name)} is there under two names`);
    }
    for (const { name } of tensors.unknown) {
      this.warnings.push(`tensor ${JSON.stringify(name)} is of no known use`);
    }
    const weight = this.#need("embed.weight");
    const scale = tensors.parts.get("embed.scale") ?? null;
    if (!weight) {
      this.#module();
      return null;
    }
    const shape = tableShape(weight, scale, config.headDim);
    if (typeof shape === "string") {
      if (!scale && shape.startsWith("no scales")) this.#need("embed.scale", shape);
      else this.#fault(weight.name, shape);
      this.#module();
      return null;
    }
    if (numEmbeddings !== null && shape.rows < numEmbeddings) {
      this.#fault(
        weight.name,
        `tensor ${JSON.stringify(weight.name)} has ${shape.rows} rows, ` +
          `wanted ${numEmbeddings} or more (engram_num_embeddings)`,
      );
    }
    return { layerId: tensors.layerId, ...shape, embed: { weight, scale }, ...this.#module() };
  }

  #module(): Pick<EngramLayer, "wkv" | "qWeight" | "kWeight"> {
    const { parts } = this.tensors;
    const get = (part: EngramPart) =>
      // One file of many need not hold them; a folder must.
      this.files.single ? parts.get(part) ?? null : this.#need(part);
    const weight = get("wkv.weight");
    const qWeight = get("q_weight");
    const kWeight = get("k_weight");
    const scale = parts.get("wkv.scale") ?? null;
    if (weight?.dtype.startsWith("F8_") && !scale) this.#need("wkv.scale");
    for (
      const { tensor, message } of moduleFaults(this.config, { weight, scale, qWeight, kWeight })
    ) {
      this.#fault(tensor.name, message);
    }
    return { wkv: weight && { weight, scale }, qWeight, kWeight };
  }

  /** The part's tensor; a missing one is a fault, which says where the index has it. */
  #need(part: EngramPart, detail?: string): Tensor | null {
    const tensor = this.tensors.parts.get(part);
    if (tensor) return tensor;
    const { index } = this.files;
    const name = partName(this.tensors.layerId, part, this.tensors);
    const listed = index &&
      (index.fileOf.has(name)
        ? name
        : [...index.fileOf.keys()].find((key) => key.endsWith(`.${name}`)));
    const file = listed ? index.fileOf.get(listed) as string : null;
    if (file !== null && !this.files.files.has(file)) {
      const message = `tensor ${
        JSON.stringify(listed)
      } is listed in file \`${file}\`, which is not there`;
      this.faults.push({ kind: "unavailable", tensor: name, file, missing: true, message });
      return null;
    }
    const message = `tensor ${JSON.stringify(name)} is missing${detail ? `: ${detail}` : ""}`;
    this.#fault(name, message, true);
    return null;
  }

  #fault(tensor: string, message: string, missing = false): void {
    const source = this.files.tensors.get(tensor)?.source.name ?? null;
    this.faults.push({ kind: "malformed", tensor, file: source, missing, message });
  }
}

/** The name a missing part would have, spelled like its neighbours. */
function partName(layerId: number, part: EngramPart, tensors: LayerTensors): string {
  const weight = part === "embed.scale"
    ? tensors.parts.get("embed.weight")
    : part === "wkv.scale"
    ? tensors.parts.get("wkv.weight")
    : undefined;
  if (weight) return scaleName(weight.name);
  const neighbour = [...tensors.parts.values()][0]?.name;
  const prefix = neighbour?.slice(0, neighbour.indexOf("layers."));
  return `${prefix ?? ""}layers.${layerId}.engram.${part}`;
}

/** The error a fault becomes when the checkpoint is opened. */
export function faultError(files: CheckpointFiles, faults: readonly LayerFault[]): EngramError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more faults)` : "";
  return new EngramError(
    first.kind,
    `Cannot open checkpoint \`${files.place}\`: ${first.message}${more}`,
    {
      where: first.file ?? files.place,
      hint: files.single
        ? "The file may be one of several: give the folder that holds them all"
        : `See all that is wrong with \`engram verify ${files.place}\``,
    },
  );
}
