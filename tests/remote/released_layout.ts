import { planFile, type TensorSpec } from "../../lib/safetensors/plan_file.ts";

/** Rows of the two released tables. */
const ROWS: Record<number, number> = { 1: 384006168, 14: 384016682 };

/** Files of the released checkpoint; its last two hold an Engram layer each. */
const COUNT = 48;

/**
 * Writes the released checkpoint's files without their data: headers and sizes like theirs (the
 * two large ones of 101.5 GB), sparse. Returns the bytes of all headers,
 * the index and the config: the least that an audit has to fetch.
 */
export function writeReleasedLayout(folder: string): number {
  const map: Record<string, string> = {};
  let least = 0;
  for (let number = 1; number <= COUNT; number++) {
    const name = `model-${String(number).padStart(5, "0")}-of-000${COUNT}.safetensors`;
    const specs = number === 47 ? engram(1) : number === 48 ? engram(14) : block(number);
    const { header, size } = planFile(specs, { format: "pt" });
    Deno.writeFileSync(`${folder}/${name}`, header);
    Deno.truncateSync(`${folder}/${name}`, size);
    specs.forEach((spec) => map[spec.name] = name);
    least += header.length;
  }
  const texts = {
    "model.safetensors.index.json": JSON.stringify({ weight_map: map }),
    "config.json": JSON.stringify(config()),
  };
  for (const [name, text] of Object.entries(texts)) {
    Deno.writeTextFileSync(`${folder}/${name}`, text);
    least += text.length;
  }
  return least;
}

function engram(layer: number): TensorSpec[] {
  const rows = ROWS[layer];
  const tensors: [string, TensorSpec["dtype"], number[]][] = [
    ["embed.weight", "F8_E4M3", [rows, 256]],
    ["embed.scale", "F8_E8M0", [rows, 8]],
    ["wkv.weight", "F8_E4M3", [25600, 6144]],
    ["wkv.scale", "F8_E8M0", [800, 192]],
    ["q_weight", "BF16", [4, 5120]],
    ["k_weight", "BF16", [4, 5120]],
  ];
  return tensors.map(([part, dtype, shape]) => ({
    name: `layers.${layer}.engram.${part}`,
    dtype,
    shape,
  }));
}

/** A file of a decoder layer: experts, attention, norms; 6.7 GB. */
function block(layer: number): TensorSpec[] {
  return Array.from({ length: 40 }, (_, i): TensorSpec => ({
    name: `layers.${layer}.ffn.experts.${i}.weight`,
    dtype: "F8_E4M3",
    shape: [32768, 5120],
  }));
}

function config(): unknown {
  return {
    model_type: "deepseek_v41",
    image_token_id: 129264,
    pad_token_id: 2,
    text_config: {
      engram_layer_ids: [1, 14],
      engram_num_embeddings: Object.values(ROWS),
      engram_max_ngram_size: 4,
      engram_n_heads: 8,
      engram_head_dim: 256,
      engram_vocab_size: 16_000_000,
      engram_compressed_vocab_size: 99092,
      engram_pad_token_id: 2,
      hidden_size: 5120,
      hc_mult: 4,
      rms_norm_eps: 1e-20,
    },
    quantization_config: { quant_method: "fp8", weight_block_size: [32, 32] },
  };
}
