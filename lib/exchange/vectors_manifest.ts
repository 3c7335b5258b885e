import type { Constants } from "./constants.ts";
import { VECTOR_TEXTS } from "./vector_texts.ts";
import { VECTORS_FORMAT } from "./vectors_model.ts";

/** One file of the vectors, for the manifest. */
export interface VectorFile {
  /** Its name. */
  readonly file: string;
  /** What is to be computed, for an engine's author. */
  readonly says: string;
  /** Its SHA-256 in hexadecimal. */
  readonly sha256: string;
  /** What each array is. */
  readonly arrays: Readonly<Record<string, string>>;
}

/** The manifest: what the files are, and how an engine is checked against them. */
export function vectorsManifest(
  { layout, tokenMap, padTokenId, compressedPadId, encoding }: Constants,
  checkpoint: string,
  files: readonly VectorFile[],
): string {
  return JSON.stringify(
    {
      format: VECTORS_FORMAT,
      version: 1,
      checkpoint,
      how_to_check: [
        "Compute each file's outputs from its inputs with your engine.",
        "Write them under the same array names into a file of the same name in another folder, as " +
        "safetensors, .npy (one array) or JSON; arrays you do not have may be left out.",
        "Run `engram diff THIS_FOLDER YOUR_FOLDER --checkpoint MODEL`: it tells the first " +
        "difference by token, layer and column, and the mistake that explains it.",
      ],
      layer_ids: layout.layers.map(({ layerId }) => layerId),
      columns: layout.columns,
      max_ngram_size: layout.maxNgramSize,
      n_heads: layout.nHeads,
      pad_token_id: padTokenId,
      compressed_pad_id: compressedPadId,
      compressed_vocab_size: layout.compressedVocabSize,
      tokens: tokenMap.map.length,
      token_map_sha256: tokenMap.sha256,
      encoding,
      texts: VECTOR_TEXTS.map(([says, text], request) => ({ request, says, text })),
      files,
    },
    null,
    2,
  ) + "\n";
}
