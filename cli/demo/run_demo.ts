import { join } from "node:path";
import { EngramError } from "../../lib/errors.ts";
import { parseConfig } from "../../lib/checkpoint/parse_config.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { run } from "../run.ts";
import { demoTokenizer } from "./demo_tokenizer.ts";
import { writeDemoCheckpoint } from "./demo_checkpoint.ts";

/** One command of the demo. */
export interface DemoStep {
  /** The command line, as it can be typed. */
  readonly command: string;
  readonly exit_code: number;
  readonly seconds: number;
}

/** How the demo is shown and stopped. */
export interface DemoOptions {
  readonly signal: AbortSignal;
  show(text: string): void;
}

const SIZES = { headDim: 64, hidden: 64, copies: 4 };

/** The released settings with buckets of about 1000 rows, for the DeepSeek-V3 tokenizer. */
const CONFIG = {
  model_type: "deepseek_v41",
  quantization_config: { quant_method: "fp8", weight_block_size: [32, 32], scale_fmt: "ue8m0" },
  text_config: {
    hidden_size: SIZES.hidden,
    hc_mult: SIZES.copies,
    rms_norm_eps: 1e-20,
    engram_layer_ids: [1, 14],
    engram_max_ngram_size: 4,
    engram_vocab_size: 1000,
    engram_n_heads: 8,
    engram_head_dim: SIZES.headDim,
    engram_pad_token_id: 2,
    engram_compressed_vocab_size: 98_627,
  },
};

const TEXT = `The quick brown fox jumps over the lazy dog. THE QUICK brown Fox!
Alexander the Great could tame the horse Bucephalus.
四大发明之一的造纸术。 naïve café
`;

/** Makes a checkpoint in `folder` and runs the main job on it; a step that fails ends the demo. */
export async function runDemo(
  folder: string,
  seed: number,
  { signal, show }: DemoOptions,
): Promise<DemoStep[]> {
  const model = join(folder, "model");
  const text = join(folder, "text.txt");
  Deno.mkdirSync(model);
  Deno.writeTextFileSync(text, TEXT);
  const layout = buildLayout(parseConfig(CONFIG, "the demo's config"));
  const rows = layout.layers.map((layer) => layer.rows);
  const config = { ...CONFIG.text_config, engram_num_embeddings: rows };
  await writeDemoCheckpoint(model, layout, { ...CONFIG, text_config: config }, SIZES, seed);
  Deno.copyFileSync(await demoTokenizer(), join(model, "tokenizer.json"));
  show(
    `A checkpoint of random weights (seed ${seed}) in the released layout, two layers of about\n` +
      `${rows[0]} rows, with the real DeepSeek-V3 tokenizer, is in ${model}`,
  );

  const ids = join(folder, "ids.safetensors");
  const shards = join(folder, "shards");
  const lines = [
    ["inspect", model],
    ["map", join(model, "tokenizer.json"), "--out", join(folder, "map.safetensors")],
    ["hash", model, "--text", text, "--out", ids],
    ["shard", model, "--tp", "4", "--out", shards],
    ["verify", model, "--shards", shards],
    ["eval", model, "--text", text, "--seed", "1"],
  ];
  const steps: DemoStep[] = [];
  for (const line of lines) {
    const start = performance.now();
    show(`\n$ engram ${line.join(" ")}`);
    let errors = "";
    const exit_code = await run(line, {
      out: show,
      err: (text) => errors += text,
      terminal: false,
      outTerminal: false,
    }, signal);
    const seconds = (performance.now() - start) / 1000;
    steps.push({ command: `engram ${line.join(" ")}`, exit_code, seconds });
    if (exit_code !== 0) {
      throw new EngramError("mismatch", `Cannot finish the demo: \`engram ${line[0]}\` failed`, {
        cause: new Error(errors.trim()),
      });
    }
  }
  return steps;
}
