import { problemLines } from "../lib/checkpoint/checkpoint_files.ts";
import { engramName } from "../lib/checkpoint/engram_tensors.ts";
import { says } from "../lib/checkpoint/parse_config.ts";
import type { EngramConfig } from "../lib/checkpoint/engram_config.ts";
import type { Tensor } from "../lib/safetensors/tensor.ts";
import { readManifest } from "../lib/shards/shard_manifest.ts";
import type { Survey } from "../lib/verify/survey.ts";

/** What `engram inspect --json` prints. */
export type InspectReport = ReturnType<typeof inspectReport>;

/** All that can be said of a place from its headers and config. */
export function inspectReport(survey: Survey, all: boolean) {
  const { files, config, layout } = survey;
  // Of every file: shards, and broken checkpoints, have names more than once.
  const tensors = [...files.files.values()].flatMap((file) => [...file.tensors.values()]);
  const describe = tensorReport(survey);
  const inEngram = tensors.filter(({ name }) => engramName(name) !== null);
  return {
    path: files.place,
    kind: files.shards
      ? "shards"
      : files.single
      ? "file"
      : files.files.size > 0 || files.index
      ? "folder"
      : "config",
    tensor_count: tensors.length,
    tensor_bytes: sum(tensors),
    engram_tensor_count: inEngram.length,
    engram_tensor_bytes: sum(inEngram),
    files: [...files.files].map(([name, file]) => ({
      name,
      bytes: file.source.size,
      header_bytes: file.headerBytes,
      tensors: file.tensors.size,
      engram_tensors: [...file.tensors.keys()].filter((name) => engramName(name)).length,
      metadata: Object.fromEntries(file.metadata),
      shard: readManifest(file.metadata),
    })),
    dtypes: dtypes(tensors),
    index: files.index && {
      name: files.index.name,
      tensors: files.index.fileOf.size,
      files: files.index.files.length,
      total_size: files.index.totalSize,
      missing_files: files.problems.filter(({ kind }) => kind === "missing_file").length,
      agrees: files.problems.every(({ kind }) =>
        kind === "unlisted_file" || kind === "missing_file"
      ),
    },
    config: config && configReport(config),
    model_type: textOf(survey.configJson, "model_type"),
    tokenizer: files.tokenizerPath,
    engram_layers: survey.layers.map((layer) => {
      const primes = layout?.layers.find(({ layerId }) => layerId === layer.layerId);
      // Of a config alone that does not say, the table would have the rows of its primes.
      const unsaid = layer.embed === null && config?.numEmbeddings === null;
      const rows = unsaid && primes ? primes.rows : layer.rows;
      return {
        layer_id: layer.layerId,
        encoding: layer.encoding.kind,
        packed: layer.packed,
        head_dim: layer.encoding.headDim,
        row_bytes: layer.encoding.recordBytes,
        rows,
        layout_rows: primes?.rows ?? null,
        padding_rows: primes && layer.embed ? layer.rows - primes.rows : null,
        table_bytes: layer.embed
          ? layer.embed.weight.byteLength + (layer.embed.scale?.byteLength ?? 0)
          : rows * layer.encoding.recordBytes,
        projection: layer.wkv && `${layer.wkv.weight.dtype} [${layer.wkv.weight.shape.join(", ")}]`,
        first_prime: primes?.primes[0][0] ?? null,
        last_prime: primes?.primes.at(-1)?.at(-1) ?? null,
        tensors: [...survey.engram.get(layer.layerId)?.parts.values() ?? []].map(({ name }) =>
          name
        ),
      };
    }),
    engram_tensors: inEngram.map(describe),
    oddities: oddities(survey),
    ...(all ? { tensors: tensors.map(describe) } : {}),
  };
}

/** A tensor as the report lists it; the file's name is looked up by its source. */
function tensorReport(survey: Survey) {
  const fileOf = new Map([...survey.files.files].map(([name, { source }]) => [source, name]));
  return ({ name, dtype, shape, byteLength, offset, source }: Tensor) => ({
    name,
    dtype,
    shape,
    bytes: byteLength,
    file: fileOf.get(source) as string,
    offset,
  });
}

function configReport(config: EngramConfig) {
  const optional = (["padTokenId", "hiddenSize", "hcMult", "rmsNormEps"] as const).map((field) =>
    says(config, field) ? config[field] : null
  );
  const [padTokenId, hiddenSize, hcMult, rmsNormEps] = optional;
  return {
    where: config.where,
    engram_layer_ids: config.layerIds,
    engram_num_embeddings: config.numEmbeddings,
    engram_max_ngram_size: config.maxNgramSize,
    engram_n_heads: config.nHeads,
    engram_head_dim: config.headDim,
    engram_vocab_size: config.vocabSize,
    engram_compressed_vocab_size: config.compressedVocabSize,
    engram_pad_token_id: padTokenId,
    dead_token_ids: config.deadTokenIds,
    hidden_size: hiddenSize,
    hc_mult: hcMult,
    rms_norm_eps: rmsNormEps,
    weight_block_size: config.weightBlockSize,
  };
}

/** How many oddities of one kind are worth a line each. */
const MOST_ODDITIES = 20;

function oddities(survey: Survey): string[] {
  const found = [
    ...problemLines(survey.files.problems),
    ...survey.configError ? [survey.configError.message] : [],
    ...survey.layerFaults.map(({ message }) => message),
    ...survey.layoutFaults.map(({ message }) => message),
    ...survey.warnings,
  ];
  if (survey.files.configName === null && !survey.files.shards) {
    found.push("there is no config.json beside the tensors");
  }
  if (survey.files.tensors.size > 0 && survey.engram.size === 0) found.push(NO_ENGRAM);
  const more = found.length - MOST_ODDITIES;
  return more > 0
    ? [...found.slice(0, MOST_ODDITIES), `and ${more} more: see \`engram verify\``]
    : found;
}

const NO_ENGRAM = "there are no Engram tensors here (layers.N.engram.…)";

function dtypes(tensors: readonly Tensor[]) {
  const found: Record<string, { tensors: number; bytes: number }> = {};
  for (const { dtype, byteLength } of tensors) {
    const entry = found[dtype] ??= { tensors: 0, bytes: 0 };
    entry.tensors++;
    entry.bytes += byteLength;
  }
  return found;
}

function sum(tensors: readonly Tensor[]): number {
  return tensors.reduce((total, { byteLength }) => total + byteLength, 0);
}

function textOf(json: unknown, key: string): string | null {
  const value = (json as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === "string" ? value : null;
}
