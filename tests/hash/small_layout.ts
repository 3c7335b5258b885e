import { buildLayout, type LayoutConfig } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";

export const VOCABULARY = 101;

/** The compressed pad id of these tests. */
export const PAD = 2;

/** A small layout of two layers with 4-grams, changed as `change` says. */
export function layoutOf(change: Partial<LayoutConfig> = {}): Layout {
  return buildLayout({
    where: "small",
    layerIds: [1, 14],
    maxNgramSize: 4,
    nHeads: 2,
    vocabSize: 30_000,
    compressedVocabSize: VOCABULARY,
    ...change,
  });
}

export const LAYOUT = layoutOf();

/** `count` ids that look random and are the same on every run. */
export function ids(count: number, seed = 7): Int32Array {
  return Int32Array.from({ length: count }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return (seed >>> 8) % VOCABULARY;
  });
}
