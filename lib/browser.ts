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
export type { ByteSource, Pieces, ReadRange, SyncByteSource } from "./bytes/byte_source.ts";
export type { MemoryWindows } from "./bytes/memory_windows.ts";
export { memorySource } from "./bytes/memory_source.ts";
export { type Dtype, DTYPE_BITS } from "./safetensors/dtype.ts";
export { readTensor } from "./safetensors/read_tensor.ts";
export { openSafetensors, type SafetensorsFile } from "./safetensors/safetensors_file.ts";
export type { Tensor } from "./safetensors/tensor.ts";
export type { Checkpoint, EngramLayer, ScaledTensor } from "./checkpoint/checkpoint.ts";
export type { CheckpointFiles, FileProblem } from "./checkpoint/checkpoint_files.ts";
export type { EngramConfig } from "./checkpoint/engram_config.ts";
export { findPlace } from "./checkpoint/find_place.ts";
export type { Folder } from "./checkpoint/folder.ts";
export { openPlace } from "./checkpoint/open_place.ts";
export { parseConfig } from "./checkpoint/parse_config.ts";
export { pickedFolder } from "./checkpoint/picked_folder.ts";
export type { Place } from "./checkpoint/place.ts";
export type { RowEncoding } from "./checkpoint/row_encoding.ts";
export type { TensorIndex } from "./checkpoint/tensor_index.ts";
export type { Encoder, EncoderOpener } from "./tokenizer/encoder.ts";
export { javascriptEncoder } from "./tokenizer/javascript_encoder.ts";
export { parseTokenizer } from "./tokenizer/parse_tokenizer.ts";
export { buildTokenMap, type TokenMap } from "./tokenizer/token_map.ts";
export type { AddedToken, Part, Tokenizer, TokenizerSpec } from "./tokenizer/tokenizer.ts";
export { buildLayout, type LayoutConfig } from "./layout/build_layout.ts";
export type { LayerLayout, LayerRowLayout, Layout, RowLayout } from "./layout/layout.ts";
export type { RowLayoutConfig } from "./layout/row_layout.ts";
export type { HashBatch } from "./hash/hash_batch.ts";
export { NgramHasher } from "./hash/ngram_hasher.ts";
export { RequestStream } from "./hash/request_stream.ts";
export type { SlotCache } from "./hash/slot_cache.ts";
export { fileStore } from "./table/file_store.ts";
export type { RowStore } from "./table/row_store.ts";
export type { StoredLayer } from "./table/table_parts.ts";
export { CpuKernels } from "./engram/cpu_kernels.ts";
export type {
  EngramRunner,
  Kept,
  RunnerInput,
  RunnerLayer,
  RunnerLayerOutput,
} from "./engram/engram_runner.ts";
export type { HiddenSource } from "./engram/hidden_source.ts";
export { KernelRunner } from "./engram/kernel_runner.ts";
export type {
  Bf16,
  GateInput,
  GateOutput,
  GateWeights,
  Kernels,
  KernelTable,
  LookupInput,
  ProjectionWeights,
  RelayInput,
} from "./engram/kernels.ts";
export { loadLayer } from "./engram/load_layer.ts";
export { SeededHidden } from "./engram/seeded_hidden.ts";
export type { ModuleRows } from "./engram/module_rows.ts";
export {
  type DeviceChoice,
  type KeepOptions,
  type OpenedKernels,
  openKernels,
} from "./gpu/open_kernels.ts";
