import { buildLayout } from "../../lib/layout/build_layout.ts";
import { fileBytes, layerTensors, SMALL_CONFIG } from "../checkpoint/small_checkpoint.ts";

/** Bound of the buckets: four columns of two layers, 33 bytes a row, make 13 MB a layer. */
const BUCKETS = 100_000;

/**
 * Writes a checkpoint of random rows, 27 MB unless told otherwise: large enough for a run on it to be
 * stopped in the middle. Returns the folder.
 */
export function writeBigCheckpoint(folder: string, buckets = BUCKETS): string {
  const layout = buildLayout({
    where: "test",
    layerIds: SMALL_CONFIG.engram_layer_ids,
    maxNgramSize: SMALL_CONFIG.engram_max_ngram_size,
    nHeads: SMALL_CONFIG.engram_n_heads,
    vocabSize: buckets,
    compressedVocabSize: SMALL_CONFIG.engram_compressed_vocab_size,
  });
  Deno.mkdirSync(folder);
  const config = {
    ...SMALL_CONFIG,
    engram_vocab_size: buckets,
    engram_num_embeddings: layout.layers.map(({ rows }) => rows),
  };
  Deno.writeTextFileSync(`${folder}/config.json`, JSON.stringify(config));
  const tensors = layout.layers.flatMap(({ layerId, rows }) => layerTensors(layerId, rows))
    .map((tensor) => {
      const data = new Uint8Array(
        tensor.shape.reduce((a, b) => a * b, tensor.dtype === "BF16" ? 2 : 1),
      );
      for (let at = 0; at < data.length; at += 65_536) {
        crypto.getRandomValues(data.subarray(at, at + 65_536));
      }
      return { ...tensor, data };
    });
  Deno.writeFileSync(`${folder}/model.safetensors`, fileBytes(tensors));
  return folder;
}
