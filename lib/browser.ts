/**
 * What runs in a browser as it stands: opening a checkpoint from picked files, tokenizing, hashing,
 * and the whole module on the page's WebGPU or on the CPU. It imports nothing of Deno's or Node's.
 *
 * @example
 * ```ts
 * import { findPlace, openPlace, pickedFolder } from "./browser.ts";
 *
 * async function layersOf(files: FileList): Promise<number[]> {
 *   const folder = pickedFolder(new Map([...files].map((file) => [file.name, file])));
 *   const checkpoint = await openPlace(await findPlace("picked files", folder));
 *   return checkpoint.layers.map(({ layerId }) => layerId);
 * }
 * ```
 *
 * @module
 */

export { EngramError, type EngramErrorOptions, type ErrorKind } from "./errors.ts";
export { blobSource } from "./bytes/blob_source.ts";
export { memorySource } from "./bytes/memory_source.ts";
export type { ByteSource } from "./bytes/byte_source.ts";
export { openSafetensors, type SafetensorsFile } from "./safetensors/safetensors_file.ts";
export { readTensor } from "./safetensors/read_tensor.ts";
export { findPlace } from "./checkpoint/find_place.ts";
export { openPlace } from "./checkpoint/open_place.ts";
export { pickedFolder } from "./checkpoint/picked_folder.ts";
export { parseConfig } from "./checkpoint/parse_config.ts";
export type { Checkpoint, EngramLayer } from "./checkpoint/checkpoint.ts";
export type { EngramConfig } from "./checkpoint/engram_config.ts";
export { parseTokenizer } from "./tokenizer/parse_tokenizer.ts";
export { javascriptEncoder } from "./tokenizer/javascript_encoder.ts";
export { buildTokenMap, type TokenMap } from "./tokenizer/token_map.ts";
export type { Tokenizer } from "./tokenizer/tokenizer.ts";
export { buildLayout } from "./layout/build_layout.ts";
export type { LayerRowLayout, Layout, RowLayout } from "./layout/layout.ts";
export { NgramHasher } from "./hash/ngram_hasher.ts";
export { RequestStream } from "./hash/request_stream.ts";
export type { HashBatch } from "./hash/hash_batch.ts";
export { fileStore } from "./table/file_store.ts";
export { CpuKernels } from "./engram/cpu_kernels.ts";
export { KernelRunner } from "./engram/kernel_runner.ts";
export { loadLayer } from "./engram/load_layer.ts";
export { SeededHidden } from "./engram/seeded_hidden.ts";
export type { Kernels } from "./engram/kernels.ts";
export { type DeviceChoice, openKernels } from "./gpu/open_kernels.ts";
