import type { HashBatch } from "../../lib/hash/hash_batch.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";

/** A golden batch with its layout, pad id and hash ids. */
export interface GoldenBatch {
  readonly name: string;
  readonly layout: Layout;
  readonly padId: number;
  readonly batch: HashBatch;
  readonly wanted: Int32Array;
}

/** The four golden configurations of `hashes.safetensors`. */
export function goldenBatches(): GoldenBatch[] {
  const golden = goldenTensors("hashes.safetensors");
  const deepseek = goldenJson<Record<string, number>>("deepseek_v3_ids.json");
  const released = golden.get("released.token_map", "I32").values;
  // deno-lint-ignore no-explicit-any -- the cases as the file holds them
  return JSON.parse(golden.metadata.cases).map((made: any): GoldenBatch => {
    const name: string = made.case;
    const map = (id: number) => id < 0 ? id : name === "released" ? released[id] : deepseek[id];
    const window = golden.get(`${name}.window`, "I32");
    return {
      name,
      layout: layoutOf(made),
      padId: made.pad_id,
      batch: {
        ids: golden.get(`${name}.token_ids`, "I32").values.map(map),
        positions: Float64Array.from(golden.get(`${name}.positions`, "I64").values, Number),
        starts: golden.get(`${name}.starts`, "I32").values,
        dead: golden.get(`${name}.dead`, "U8").values,
        window: window.values.map(map),
        windowDead: golden.get(`${name}.window_dead`, "U8").values,
        windowDepth: window.shape[1],
      },
      wanted: golden.get(`${name}.hash_ids`, "I32").values,
    };
  });
}

/** A layout by the names the golden files use. */
export function layoutOf(sizes: {
  layer_ids: number[];
  max_ngram_size: number;
  n_heads: number;
  engram_vocab_size: number;
  compressed_vocab_size: number;
}): Layout {
  return buildLayout({
    where: "test",
    layerIds: sizes.layer_ids,
    maxNgramSize: sizes.max_ngram_size,
    nHeads: sizes.n_heads,
    vocabSize: sizes.engram_vocab_size,
    compressedVocabSize: sizes.compressed_vocab_size,
  });
}
