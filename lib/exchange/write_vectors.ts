import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { OutputFile } from "../bytes/output_file.ts";
import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import type { Kernels } from "../engram/kernels.ts";
import { EngramError } from "../errors.ts";
import { writeSafetensors } from "../safetensors/writer.ts";
import { writeTokenMap } from "../tokenizer/saved_map.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Constants } from "./constants.ts";
import { constantsJson } from "./constants_json.ts";
import { hashCases, type VectorCase } from "./vectors_cases.ts";
import { type VectorFile, vectorsManifest } from "./vectors_manifest.ts";
import { VECTORS_MANIFEST } from "./vectors_model.ts";
import { moduleCases } from "./vectors_module.ts";
import { vectorTokens } from "./vectors_tokens.ts";

/** What {@linkcode writeVectors} writes vectors of. */
export interface VectorsSource {
  /** The checkpoint; with a config alone rows and gates are left out. */
  readonly checkpoint: Checkpoint;
  /** Its tokenizer. */
  readonly tokenizer: Tokenizer;
  /** Its constants. */
  readonly constants: Constants;
  /** What rows and gates are computed on; null where only hashes are wanted. */
  readonly kernels: Kernels | null;
}

/**
 * Writes conformance vectors into `folder`: config, constants, token map, a file a case, and last
 * the manifest, which says what each file is and how an engine is checked against it.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where a file exists without `force`.
 */
export async function writeVectors(
  { checkpoint, tokenizer, constants, kernels }: VectorsSource,
  folder: string,
  force: boolean,
): Promise<VectorFile[]> {
  const manifest = join(folder, VECTORS_MANIFEST);
  if (fs.existsSync(manifest) && !force) {
    throw new EngramError("unavailable", `Cannot create \`${manifest}\`: it exists already`, {
      where: folder,
      hint: "Add `--force` to replace it, or choose another folder",
    });
  }
  try {
    fs.mkdirSync(folder, { recursive: true });
    // A folder whose files are being replaced must not look whole.
    fs.rmSync(manifest, { force: true });
  } catch (error) {
    throw fileError("create", folder, error);
  }
  const tokens = await vectorTokens(tokenizer);
  const files: VectorFile[] = [];
  const text = (file: string, content: string, says: string) => {
    writeText(join(folder, file), content, force);
    files.push({ file, says, sha256: digest(join(folder, file)), arrays: {} });
  };
  text("config.json", configOf(constants), "the model's Engram config, by the released keys");
  text("constants.json", constantsJson(constants), "all constants; multipliers as decimal strings");
  const map = join(folder, "token_map.safetensors");
  await writeTokenMap(map, constants.tokenMap, { source: tokenizer.name, force });
  const says = "The compressed token map: it must be equal; compare its digest first.";
  const arrays = { token_map: "output: compressed id of each token id [tokens]" };
  files.push({ file: "token_map.safetensors", says, sha256: digest(map), arrays });
  const write = async (cases: readonly VectorCase[]) => {
    for (const { file, says, arrays } of cases) {
      const path = join(folder, file);
      await writeSafetensors(path, arrays, { force, metadata: { format: "engram-vectors" } });
      const told = Object.fromEntries(arrays.map(({ name, says }) => [name, says]));
      files.push({ file, says, sha256: digest(path), arrays: told });
    }
  };
  await write(hashCases(constants, tokens));
  if (kernels) await write(await moduleCases(constants, checkpoint, kernels, tokens));
  writeText(manifest, vectorsManifest(constants, checkpoint.place, files), force);
  return files;
}

/** A config that the model's layout follows from. */
function configOf(constants: Constants): string {
  const { layout } = constants;
  return JSON.stringify(
    {
      engram_layer_ids: layout.layers.map(({ layerId }) => layerId),
      engram_num_embeddings: layout.layers.map(({ rows }) => rows),
      engram_max_ngram_size: layout.maxNgramSize,
      engram_n_heads: layout.nHeads,
      engram_head_dim: constants.headDim,
      engram_vocab_size: constants.vocabSize,
      engram_compressed_vocab_size: layout.compressedVocabSize,
      engram_pad_token_id: constants.padTokenId,
      image_token_id: constants.deadTokenIds,
      hidden_size: constants.hiddenSize,
      hc_mult: constants.hcMult,
      rms_norm_eps: constants.rmsNormEps,
    },
    null,
    2,
  ) + "\n";
}

function writeText(path: string, text: string, force: boolean): void {
  using file = OutputFile.create(path, { force });
  file.write(new TextEncoder().encode(text));
  file.commit();
}

function digest(path: string): string {
  return createHash("sha256").update(fs.readFileSync(path)).digest("hex");
}
