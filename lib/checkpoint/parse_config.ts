import { z } from "zod";
import { EngramError } from "../errors.ts";
import * as limits from "./config_limits.ts";
import type { EngramConfig } from "./engram_config.ts";

const integer = (least: number, most: number) =>
  z.int(`wanted an integer from ${least} to ${most}`)
    .min(least, `wanted an integer from ${least} to ${most}`)
    .max(most, `wanted an integer from ${least} to ${most}`);
const tokenId = integer(0, limits.MAX_TOKEN_ID);
const list = <T extends z.ZodType>(item: T, wanted: string) =>
  z.array(item, wanted).max(limits.MAX_LAYERS, `wanted at most ${limits.MAX_LAYERS}`);

/** Each field's spellings (the first is the one messages name) and what its value must be. */
const FIELDS = {
  layerIds: [
    ["engram_layer_ids"],
    list(integer(0, limits.MAX_LAYER_ID), "wanted a list of layer numbers"),
  ],
  numEmbeddings: [
    ["engram_num_embeddings"],
    list(integer(1, limits.MAX_ROWS), "wanted a list of row counts"),
  ],
  maxNgramSize: [["engram_max_ngram_size"], integer(2, limits.MAX_NGRAM_SIZE)],
  nHeads: [["engram_n_heads"], integer(1, limits.MAX_HEADS)],
  headDim: [["engram_head_dim"], integer(1, limits.MAX_HEAD_DIM)],
  vocabSize: [["engram_vocab_size"], integer(1, limits.MAX_ROWS)],
  compressedVocabSize: [["engram_compressed_vocab_size"], integer(1, limits.MAX_TOKEN_ID)],
  padTokenId: [["engram_pad_token_id", "engram_pad_id"], tokenId],
  hiddenSize: [["hidden_size", "dim"], integer(1, limits.MAX_HIDDEN)],
  hcMult: [["hc_mult"], integer(1, limits.MAX_COPIES)],
  rmsNormEps: [
    ["rms_norm_eps", "norm_eps"],
    z.number("wanted a number from 0 to 1").min(0, "wanted a number from 0 to 1")
      .max(1, "wanted a number from 0 to 1"),
  ],
} as const satisfies Record<string, readonly [readonly string[], z.ZodType]>;

type Field = keyof typeof FIELDS;
type Value<F extends Field> = z.infer<typeof FIELDS[F][1]>;

/** Spellings of the image tokens, one id or a list of them. */
const IMAGE_KEYS = ["image_token_id", "image_token_ids", "image_token_index"];
const imageTokens = z.union([tokenId, z.array(tokenId).max(65_536)], "wanted a token id or a list");

/** The released model has two image tokens side by side; its config names the first of them. */
const RELEASED_IMAGE_TOKENS = [129_264, 129_265];

/** Sections that hold the language model's part of a multimodal config. */
const SECTIONS = ["text_config", "language_config", "llm_config"];

/** The released tile of weights that shares one scale; the tensors' shapes are checked against it. */
const RELEASED_BLOCK = [32, 32] as const;

const block = z.tuple([integer(1, 65_536), integer(1, 65_536)], "wanted two sizes");
const quantization = z.object({
  weight_block_size: block.nullish(),
  quant_method: z.string().nullish(),
}, "wanted an object");

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads what a model's config says about its Engram layers: the nested `config.json` of a model
 * hub or the flat one of the model's own inference code, in every spelling of the keys.
 *
 * @param json The parsed JSON.
 * @param where The file, for messages.
 * @throws an {@linkcode EngramError} of kind `malformed` that names the key, what it holds and what
 * was wanted; also when the config has no Engram layers.
 */
export function parseConfig(json: unknown, where: string): EngramConfig {
  const root = record(json);
  if (!root) {
    throw fault(where, `found ${shown(json)}, wanted an object`, "Give a model's config.json");
  }
  const section = SECTIONS.map((key) => record(root[key])).find((part) =>
    part && Object.keys(part).some((key) => key.startsWith("engram_"))
  );
  const reader = new ConfigReader(section ? [section, root] : [root], where);
  const layerIds = layersOf(reader, where);
  const numEmbeddings = reader.find("numEmbeddings") ?? null;
  if (numEmbeddings && numEmbeddings.length !== layerIds.length) {
    throw fault(
      where,
      `engram_num_embeddings has ${numEmbeddings.length} counts, ` +
        `wanted ${layerIds.length}, one for each of engram_layer_ids`,
    );
  }
  const quant = reader.value(["quantization_config"], quantization);
  const weightBlockSize = quant?.weight_block_size ?? reader.value(["weight_block_size"], block) ??
    RELEASED_BLOCK;
  const config: Record<string, unknown> = {
    where,
    layerIds,
    numEmbeddings,
    compressedVocabSize: reader.find("compressedVocabSize") ?? null,
    deadTokenIds: deadTokens(reader),
    weightBlockSize,
    ...(quant?.quant_method ? { quantMethod: quant.quant_method } : {}),
  };
  for (const field of ["maxNgramSize", "nHeads", "headDim", "vocabSize"] as const) {
    config[field] = reader.need(field);
  }
  define(
    config,
    "padTokenId",
    reader.find("padTokenId") ?? reader.value(["pad_token_id"], tokenId),
    reader,
  );
  for (const field of ["hiddenSize", "hcMult", "rmsNormEps"] as const) {
    define(config, field, reader.find(field), reader);
  }
  return config as unknown as EngramConfig;
}

/** Whether a parsed config claims to have Engram layers; one without them can still be inspected. */
export function mentionsEngram(json: unknown): boolean {
  const root = record(json);
  return [root, ...SECTIONS.map((key) => record(root?.[key]))].some((section) =>
    section && Object.keys(section).some((key) => key.startsWith("engram_"))
  );
}

/** Whether `config` says `field`; reading one that it does not say throws. */
export function says(
  config: EngramConfig,
  field: "padTokenId" | "hiddenSize" | "hcMult" | "rmsNormEps",
): boolean {
  return Object.prototype.propertyIsEnumerable.call(config, field);
}

/** A value, or a property that explains its absence to whoever needs it. */
function define(
  config: Record<string, unknown>,
  field: Field,
  value: unknown,
  reader: ConfigReader,
): void {
  if (value !== undefined && value !== null) config[field] = value;
  else Object.defineProperty(config, field, { get: () => reader.missing(field) });
}

function layersOf(reader: ConfigReader, where: string): readonly number[] {
  const layerIds = reader.find("layerIds");
  if (!layerIds || layerIds.length === 0) {
    throw fault(
      where,
      `${layerIds ? "engram_layer_ids is empty" : "it has no engram_layer_ids"}: ` +
        "the model has no Engram layers",
      "`engram inspect` shows what a model without Engram layers holds",
    );
  }
  const twice = layerIds.find((id, i) => layerIds.indexOf(id) !== i);
  if (twice !== undefined) {
    throw fault(where, `engram_layer_ids names layer ${twice} twice, wanted each once`);
  }
  return layerIds;
}

function deadTokens(reader: ConfigReader): readonly number[] {
  const dead = new Set(
    IMAGE_KEYS.flatMap((key) => reader.value([key], imageTokens) ?? []),
  );
  if (RELEASED_IMAGE_TOKENS.some((id) => dead.has(id))) {
    for (const id of RELEASED_IMAGE_TOKENS) dead.add(id);
  }
  return [...dead].sort((a, b) => a - b);
}

/** Looks keys up in the sections of a config, the inner one first. */
class ConfigReader {
  constructor(readonly sections: readonly Json[], readonly where: string) {}

  /** A field's value, checked; undefined where no spelling of it is there. */
  find<F extends Field>(field: F): Value<F> | undefined {
    return this.value(FIELDS[field][0], FIELDS[field][1]) as Value<F> | undefined;
  }

  /** A field's value; a missing one is an error. */
  need<F extends Field>(field: F): Value<F> {
    return this.find(field) ?? this.missing(field);
  }

  /** Says that a field is missing. */
  missing(field: Field): never {
    const [first, ...others] = FIELDS[field][0];
    const also = others.length ? ` (or ${others.join(", ")})` : "";
    throw fault(
      this.where,
      `it has no ${first}${also}`,
      "Add the key, or use the model's own config",
    );
  }

  /** The value under one of `keys`, checked; two spellings that disagree are an error. */
  value<T extends z.ZodType>(keys: readonly string[], schema: T): z.infer<T> | undefined {
    for (const section of this.sections) {
      const present = keys.filter((key) => Object.hasOwn(section, key) && section[key] !== null);
      if (present.length === 0) continue;
      const [first, second] = present;
      const value = this.#parse(first, section[first], schema);
      if (second !== undefined) {
        const other = this.#parse(second, section[second], schema);
        if (JSON.stringify(value) !== JSON.stringify(other)) {
          throw fault(
            this.where,
            `${first} is ${shown(value)} but ${second} is ${shown(other)}, wanted one value`,
          );
        }
      }
      return value;
    }
    return undefined;
  }

  #parse<T extends z.ZodType>(key: string, value: unknown, schema: T): z.infer<T> {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const { path, message } = result.error.issues[0];
    const inner = path.reduce<unknown>(
      (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
      value,
    );
    const steps = path.map((step) => typeof step === "number" ? `[${step}]` : `.${String(step)}`);
    throw fault(this.where, `${key}${steps.join("")} is ${shown(inner)}, ${message}`);
  }
}

function record(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Json
    : undefined;
}

/** A value for a message: short, and safe for values nested too deeply to be written out. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  // JSON has no infinity, but it has 1e999.
  const text = typeof value === "number" ? String(value) : JSON.stringify(value) ?? "nothing";
  return text.length <= 60 ? text : `${text.slice(0, 60)}… (${text.length} characters)`;
}

function fault(where: string, found: string, hint?: string): EngramError {
  return new EngramError("malformed", `Cannot use config \`${where}\`: ${found}`, {
    where,
    ...(hint ? { hint } : {}),
  });
}
