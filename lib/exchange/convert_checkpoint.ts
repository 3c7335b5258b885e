import * as fs from "node:fs";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { checkFreeSpace } from "../bytes/free_space.ts";
import { OutputFile } from "../bytes/output_file.ts";
import type { Checkpoint, EngramLayer } from "../checkpoint/checkpoint.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { type FilePlan, planFile, type TensorSpec } from "../safetensors/plan_file.ts";
import { SafetensorsWriter } from "../safetensors/safetensors_writer.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { encodingName } from "./constants.ts";
import type { ConversionErrors } from "./conversion_errors.ts";
import { convertTable, type TableConversion, type Target } from "./convert_table.ts";

/** How {@linkcode convertCheckpoint} writes. */
export interface ConvertOptions {
  /** Replace files that exist. */
  readonly force?: boolean;
  /** Ends the work with an `EngramError` of kind `interrupted`; no file of that layer is left. */
  readonly signal?: AbortSignal;
  /** Called with the number of rows converted after each piece. */
  readonly onRows?: (rows: number) => void;
}

/** A layer that was converted. */
export interface ConvertedLayer {
  /** The layer. */
  readonly layerId: number;
  /** Path of its file. */
  readonly path: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** Dtypes of the table's tensors, as labelled. */
  readonly dtypes: readonly string[];
  /** What was found on the way. */
  readonly errors: ConversionErrors;
}

/**
 * Writes the checkpoint's Engram layers anew into `folder` with their tables in another encoding:
 * a file a layer, an index, the config, and the tokenizer where it lies beside the checkpoint. All
 * other Engram tensors are copied. Tables are streamed in constant memory; each file appears whole
 * or not at all.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where a file exists without `force`, or
 * there is too little space.
 */
export async function convertCheckpoint(
  checkpoint: Checkpoint,
  layout: RowLayout,
  target: Target,
  folder: string,
  options: ConvertOptions = {},
): Promise<ConvertedLayer[]> {
  try {
    fs.mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw fileError("create", folder, error);
  }
  const force = options.force ?? false;
  const plans = checkpoint.layers.map((layer, i) => {
    const of = layout.layers.find(({ layerId }) => layerId === layer.layerId)!;
    const name = `model-${five(i + 1)}-of-${five(checkpoint.layers.length)}.safetensors`;
    return planLayer(layer, convertTable(layer, of, target), name);
  });
  refuseExisting(folder, [...plans.map(({ name }) => name), CONFIG, INDEX], force);
  checkFreeSpace(folder, plans.reduce((sum, { file }) => sum + file.size, 0));
  const written: ConvertedLayer[] = [];
  for (const plan of plans) {
    const path = join(folder, plan.name);
    await writeLayer(path, plan, options);
    const { layer: { layerId }, table: { tensors, errors }, file: { size } } = plan;
    const dtypes = tensors.map(({ dtype }) => dtype);
    written.push({ layerId, path, bytes: size, dtypes, errors });
  }
  await copyBeside(checkpoint, folder, force);
  // Last: a folder without its index does not look whole.
  writeIndex(join(folder, INDEX), plans, force);
  return written;
}

const CONFIG = "config.json";
const INDEX = "model.safetensors.index.json";

/** One layer's file before it is written. */
interface LayerPlan {
  readonly layer: EngramLayer;
  readonly table: TableConversion;
  /** Tensors copied as they are, by their names in the new file. */
  readonly copied: ReadonlyMap<string, Tensor>;
  readonly name: string;
  readonly specs: readonly TensorSpec[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly file: FilePlan;
}

function planLayer(layer: EngramLayer, table: TableConversion, name: string): LayerPlan {
  const copied = new Map(
    copiedTensors(layer).map((tensor) => [tensor.name.replace(/^.*?(?=layers\.\d)/, ""), tensor]),
  );
  const specs = [
    ...table.tensors,
    ...[...copied].map(([name, { dtype, shape }]) => ({ name, dtype, shape })),
  ];
  const metadata = { format: "pt", engram_converted_from: encodingName(layer) };
  return { layer, table, copied, name, specs, metadata, file: planFile(specs, metadata) };
}

async function writeLayer(
  path: string,
  { table, copied, specs, metadata }: LayerPlan,
  { force = false, signal, onRows }: ConvertOptions,
): Promise<void> {
  using writer = SafetensorsWriter.create(path, specs, { metadata, force });
  for await (const { rows, parts } of table.pieces(signal)) {
    for (const { name, bytes } of parts) writer.append(name, bytes);
    onRows?.(rows);
  }
  for (const [name, tensor] of copied) {
    const range = { begin: 0, end: tensor.byteLength };
    await writer.appendFrom(name, tensor, { ...range, ...(signal && { signal }) });
  }
  writer.commit();
}

/** The layer's tensors beside its table, as far as they are there. */
function copiedTensors({ wkv, qWeight, kWeight }: EngramLayer): Tensor[] {
  return [wkv?.weight, wkv?.scale, qWeight, kWeight].filter((tensor) => !!tensor);
}

function refuseExisting(folder: string, names: readonly string[], force: boolean): void {
  const there = names.find((name) => !force && fs.existsSync(join(folder, name)));
  if (there === undefined) return;
  throw new EngramError(
    "unavailable",
    `Cannot create \`${join(folder, there)}\`: it exists already`,
    {
      where: folder,
      hint: "Add `--force` to replace it, or choose another folder",
    },
  );
}

async function copyBeside(
  { source: { folder: from, configName }, tokenizerPath }: Checkpoint,
  folder: string,
  force: boolean,
): Promise<void> {
  const names = [
    ...(configName === null ? [] : [[configName, CONFIG]]),
    ...(tokenizerPath === null ? [] : [["tokenizer.json", "tokenizer.json"]]),
  ];
  for (const [name, as] of names) {
    const source = await from.open(name);
    try {
      const bytes = new Uint8Array(source.size);
      await source.read(bytes, 0);
      writeFile(join(folder, as), bytes, force);
    } finally {
      source.close();
    }
  }
}

function writeIndex(path: string, plans: readonly LayerPlan[], force: boolean): void {
  let total = 0;
  const weightMap: Record<string, string> = {};
  for (const { name, file } of plans) {
    for (const [tensor, { byteLength }] of file.spans) {
      weightMap[tensor] = name;
      total += byteLength;
    }
  }
  const text = JSON.stringify({ metadata: { total_size: total }, weight_map: weightMap }, null, 2);
  writeFile(path, new TextEncoder().encode(`${text}\n`), force);
}

function writeFile(path: string, bytes: Uint8Array, force: boolean): void {
  using file = OutputFile.create(path, { force, size: bytes.length });
  file.write(bytes);
  file.commit();
}

function five(n: number): string {
  return String(n).padStart(5, "0");
}
