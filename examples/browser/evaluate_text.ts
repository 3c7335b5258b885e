import {
  buildLayout,
  buildTokenMap,
  type Checkpoint,
  type DeviceChoice,
  EngramError,
  fileStore,
  findPlace,
  javascriptEncoder,
  loadLayer,
  openKernels,
  openPlace,
  parseTokenizer,
  pickedFolder,
  RequestStream,
  SeededHidden,
} from "../../lib/browser.ts";

/** One token and what the module makes of it. */
export interface EvaluatedToken {
  readonly id: number;
  readonly text: string;
  readonly compressedId: number;
  /** Rows of each layer [layers][columns]. */
  readonly rows: number[][];
  /** Gates of each layer [layers][copies]. */
  readonly gates: number[][];
}

/** An evaluated text. */
export interface Evaluation {
  readonly layerIds: readonly number[];
  readonly device: string;
  readonly tokens: EvaluatedToken[];
}

/** What to run the module on. */
export interface Request {
  readonly text: string;
  /** Makes up the residual stream, as `engram eval --seed` does. */
  readonly seed: number;
  readonly device: DeviceChoice;
}

/** Opens the picked files and runs the whole module over a text. */
export async function evaluateText(
  files: ReadonlyMap<string, Blob>,
  request: Request,
): Promise<Evaluation> {
  const checkpoint = await openPlace(await findPlace("picked files", pickedFolder(files)));
  try {
    return await evaluate(checkpoint, await tokenizerOf(files), request);
  } finally {
    checkpoint.close();
  }
}

async function tokenizerOf(files: ReadonlyMap<string, Blob>) {
  const file = files.get("tokenizer.json");
  if (file) return await parseTokenizer(await file.text(), "tokenizer.json", javascriptEncoder);
  throw new EngramError("unavailable", "Cannot find a tokenizer: tokenizer.json was not picked");
}

async function evaluate(
  { config, layers }: Checkpoint,
  tokenizer: Awaited<ReturnType<typeof tokenizerOf>>,
  { text, seed, device }: Request,
): Promise<Evaluation> {
  const { map, compressedVocabSize } = buildTokenMap(tokenizer);
  const layout = buildLayout(config, compressedVocabSize);
  const ids = await tokenizer.encode(text);
  const compressed = ids.map((id) => map[id]);
  const dead = Uint8Array.from(ids, (id) => config.deadTokenIds.includes(id) ? 1 : 0);
  const hidden = new SeededHidden(seed, config.hcMult, config.hiddenSize);
  const loaded = await Promise.all(
    layers.map((layer) => loadLayer(layer, config, fileStore(layer))),
  );
  const opened = await openKernels(device);
  try {
    const runner = await opened.runner(layout, map[config.padTokenId], loaded);
    const results = await runner.run({
      batch: new RequestStream(layout.maxNgramSize - 1).batch(compressed, dead),
      streams: await Promise.all(layers.map(({ layerId }) => hidden.read(layerId, 0, ids.length))),
      mask: dead.map((isDead) => 1 - isDead),
      keep: { ids: true },
    });
    return {
      layerIds: layers.map(({ layerId }) => layerId),
      device: opened.note,
      tokens: Array.from(ids, (id, t) => ({
        id,
        text: tokenizer.decodeOne(id),
        compressedId: compressed[t],
        rows: results.map((result) => part(result.ids!, t, layout.columns)),
        gates: results.map((result) => part(result.gate, t, config.hcMult)),
      })),
    };
  } finally {
    opened.kernels.close();
  }
}

function part(values: Int32Array | Float32Array, index: number, width: number): number[] {
  return Array.from(values.subarray(index * width, (index + 1) * width));
}
