import type { Folder } from "./folder.ts";

/** What a path or URL given as a checkpoint turned out to be. */
export interface Place {
  /** As it was given. */
  readonly given: string;
  /** The folder the files lie in. */
  readonly folder: Folder;
  /** Whether one safetensors file was given rather than a folder. */
  readonly single: boolean;
  /** Names of the safetensors files there, sorted; with a single file that one. */
  readonly fileNames: readonly string[];
  /** Name of the index to use. */
  readonly indexName: string | null;
  /** Name of the config. */
  readonly configName: string | null;
  /** Name of the tokenizer. */
  readonly tokenizerName: string | null;
}
