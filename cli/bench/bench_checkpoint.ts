import { join } from "node:path";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { SafetensorsWriter } from "../../lib/safetensors/safetensors_writer.ts";
import { tensorBytes } from "../../lib/safetensors/tensor_bytes.ts";
import type { Dtype } from "../../lib/safetensors/dtype.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { RELEASED } from "./released.ts";
import type { BenchRequest } from "./request.ts";

/**
 * The checkpoint to measure on: the one asked for, or one layer of random bytes in the released
 * sizes with a table of `--table` bytes, written in the scratch folder.
 */
export function benchCheckpoint({ checkpoint, tableBytes, scratch }: BenchRequest): string {
  if (checkpoint !== null) return checkpoint;
  const { headDim, hiddenSize, hcMult, maxNgramSize, nHeads } = RELEASED;
  const { recordBytes } = rowEncoding("fp8", headDim);
  const columns = (maxNgramSize - 1) * nHeads;
  const vocabSize = Math.max(2, Math.floor(tableBytes / recordBytes / columns));
  const [{ layerId, rows }] = buildLayout({ ...RELEASED, layerIds: [1], vocabSize }).layers;
  const out = (hcMult + 1) * hiddenSize;
  const tensors = ([
    ["embed.weight", "F8_E4M3", [rows, headDim]],
    ["embed.scale", "F8_E8M0", [rows, headDim / 32]],
    ["wkv.weight", "F8_E4M3", [out, columns * headDim]],
    ["wkv.scale", "F8_E8M0", [out / 32, columns * headDim / 32]],
    ["q_weight", "BF16", [hcMult, hiddenSize]],
    ["k_weight", "BF16", [hcMult, hiddenSize]],
  ] satisfies [string, Dtype, number[]][]).map(([part, dtype, shape]) => ({
    name: `layers.${layerId}.engram.${part}`,
    dtype,
    shape,
  }));
  const folder = join(scratch, "model");
  Deno.mkdirSync(folder);
  Deno.writeTextFileSync(
    join(folder, "config.json"),
    JSON.stringify({
      engram_layer_ids: [layerId],
      engram_num_embeddings: [rows],
      engram_max_ngram_size: maxNgramSize,
      engram_n_heads: nHeads,
      engram_head_dim: headDim,
      engram_vocab_size: vocabSize,
      engram_pad_token_id: RELEASED.padTokenId,
      engram_compressed_vocab_size: RELEASED.compressedVocabSize,
      hidden_size: hiddenSize,
      hc_mult: hcMult,
      rms_norm_eps: RELEASED.rmsNormEps,
    }),
  );
  using writer = SafetensorsWriter.create(join(folder, "model.safetensors"), tensors);
  for (const { name, dtype, shape } of tensors) {
    const piece = dtype === "F8_E8M0" ? SCALES : CODES;
    for (let left = Number(tensorBytes(dtype, shape)); left > 0; left -= piece.length) {
      writer.append(name, left < piece.length ? piece.subarray(0, left) : piece);
    }
  }
  writer.commit();
  return folder;
}

/** Random bytes without fp8's NaN codes, over and over: written at the disk's speed. */
const CODES = randomBytes().map((byte) => (byte & 0x7f) === 0x7f ? byte ^ 1 : byte);
/** Scales about 2^-9. */
const SCALES = randomBytes().map((byte) => 116 + byte % 5);

function randomBytes(): Uint8Array {
  const bytes = new Uint8Array(2 ** 20);
  for (let at = 0; at < bytes.length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}
