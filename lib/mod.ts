/**
 * Engram tables: open checkpoints, lay out primes, hash tokens to rows, look rows up, run projection
 * and gate, on the CPU and the GPU.
 *
 * This is the surface for Deno; `./browser.ts` is the part that needs no file system.
 *
 * @example Hash token ids to the rows of every layer
 * ```ts
 * import { buildLayout, NgramHasher, parseConfig, StreamHasher } from "./mod.ts";
 *
 * const config = parseConfig({
 *   engram_layer_ids: [1, 14],
 *   engram_max_ngram_size: 4,
 *   engram_vocab_size: 16_000_000,
 *   engram_n_heads: 8,
 *   engram_head_dim: 256,
 *   engram_pad_token_id: 2,
 *   engram_compressed_vocab_size: 99_092,
 *   hidden_size: 5120,
 *   hc_mult: 4,
 *   rms_norm_eps: 1e-20,
 * }, "config.json");
 * const hasher = new NgramHasher(buildLayout(config), 1);
 * const rows = new StreamHasher(hasher).push(Int32Array.of(237, 5095, 251));
 * if (rows.length !== 3 * 2 * 24) throw new Error("[tokens, layers, columns]");
 * ```
 *
 * @module
 */

export * from "./errors.ts";

export * from "./bytes/byte_source.ts";
export type { MemoryWindows } from "./bytes/memory_windows.ts";
export { openFile } from "./bytes/file_source.ts";
export { mapFile } from "./bytes/mapped_source.ts";
export { memorySource } from "./bytes/memory_source.ts";

export { type Dtype, DTYPE_BITS, isDtype } from "./safetensors/dtype.ts";
export type { Tensor } from "./safetensors/tensor.ts";
export { openSafetensors, type SafetensorsFile } from "./safetensors/safetensors_file.ts";
export { readTensor, type StreamOptions, streamTensor } from "./safetensors/read_tensor.ts";
export { type TensorEntry, type WriteOptions, writeSafetensors } from "./safetensors/writer.ts";
export type { SafetensorsWriterOptions } from "./safetensors/safetensors_writer.ts";
export type { FilePlan, Metadata, TensorSpec } from "./safetensors/plan_file.ts";

export type { Checkpoint, EngramLayer, ScaledTensor } from "./checkpoint/checkpoint.ts";
export type { EngramConfig } from "./checkpoint/engram_config.ts";
export type { CheckpointFiles, FileProblem } from "./checkpoint/checkpoint_files.ts";
export type { Folder } from "./checkpoint/folder.ts";
export type { TensorIndex } from "./checkpoint/tensor_index.ts";
export { openCheckpoint } from "./checkpoint/open_checkpoint.ts";
export { parseConfig } from "./checkpoint/parse_config.ts";

export type { AddedToken, Part, Tokenizer, TokenizerSpec } from "./tokenizer/tokenizer.ts";
export { loadTokenizer } from "./tokenizer/load_tokenizer.ts";
export { normalizeKey } from "./tokenizer/normalize_key.ts";
export { buildTokenMap, type TokenMap } from "./tokenizer/token_map.ts";
export { readTokenMap, writeTokenMap, type WriteTokenMapOptions } from "./tokenizer/saved_map.ts";

export { encodeStream, type EncodeStreamOptions } from "./tokenizer/encode_stream.ts";

export type { LayerLayout, LayerRowLayout, Layout, RowLayout } from "./layout/layout.ts";
export { buildLayout, type LayoutConfig } from "./layout/build_layout.ts";
export { rowLayout, type RowLayoutConfig } from "./layout/row_layout.ts";
export { multipliers } from "./layout/multipliers.ts";
export {
  type RankSpan,
  rankSpans,
  type RankSplit,
  type Split,
  SPLITS,
} from "./layout/rank_spans.ts";

export type { HashBatch } from "./hash/hash_batch.ts";
export { NgramHasher } from "./hash/ngram_hasher.ts";
export { DEAD, SlotCache } from "./hash/slot_cache.ts";
export { RequestStream } from "./hash/request_stream.ts";
export { StreamHasher } from "./hash/stream_hasher.ts";

export type { IdChunk, IdSource } from "./arrays/id_source.ts";
export { openIds } from "./arrays/open_ids.ts";

export type { RowEncoding, RowStore } from "./table/row_store.ts";
export { decodeRecords } from "./table/decode_rows.ts";
export type { StoredLayer } from "./table/table_parts.ts";
export { fileStore } from "./table/file_store.ts";
export { mappedStore } from "./table/mapped_store.ts";
export { memoryStore, type MemoryTable } from "./table/memory_store.ts";
export { partStore, type PartStoreOptions, type RecordPart } from "./table/part_store.ts";
export { rowEncoding } from "./table/row_encoding.ts";
export { type SpreadOptions, spreadStore } from "./table/spread_store.ts";

export * from "./engram/kernels.ts";
export * from "./engram/engram_runner.ts";
export { CpuKernels } from "./engram/cpu_kernels.ts";
export { KernelRunner } from "./engram/kernel_runner.ts";
export { loadLayer } from "./engram/load_layer.ts";
export { lookUpRows } from "./engram/look_up_rows.ts";
export type { HiddenSource } from "./engram/hidden_source.ts";
export { type HiddenSizes, openHiddenFile } from "./engram/hidden_file.ts";
export { SeededHidden } from "./engram/seeded_hidden.ts";
export { gatherColumns, RankEmbedding, type RankRows } from "./engram/rank_embedding.ts";
export { type ParallelInput, ParallelLayer, type ParallelOutput } from "./engram/parallel_layer.ts";
export { ParallelRunner, type ParallelRunnerOptions } from "./engram/parallel_runner.ts";
export type { ModuleRows } from "./engram/module_rows.ts";
export {
  type DeviceChoice,
  type KeepOptions,
  type OpenedKernels,
  openKernels,
} from "./gpu/open_kernels.ts";

export { type Piece, planShards, type ShardPlan, type ShardTensor } from "./shards/shard_plan.ts";
export { openShards, type ShardSet } from "./shards/shard_set.ts";
export type { ShardFault } from "./shards/compare_shard.ts";
export type { CompareOptions } from "./shards/open_compared.ts";
export { sourceIdentities, type SourceIdentity } from "./shards/source_identity.ts";
export {
  type ShardsReport,
  verifyShards,
  type VerifyShardsOptions,
} from "./shards/verify_shards.ts";
export { writeShards, type WriteShardsOptions, type WrittenShard } from "./shards/write_shards.ts";
export type { OffloadLayer, OffloadManifest } from "./offload/offload_manifest.ts";
export { type Offload, openOffload } from "./offload/open_offload.ts";
