import { join } from "node:path";
import type { Layout } from "../../lib/layout/layout.ts";
import type { Dtype } from "../../lib/safetensors/dtype.ts";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";
import { mulberry32 } from "../random.ts";

/** Sizes of a made-up checkpoint; the rest is as in the released model. */
export interface DemoSizes {
  /** Values in a row. */
  readonly headDim: number;
  /** Width of the stream. */
  readonly hidden: number;
  /** Copies of the stream. */
  readonly copies: number;
}

const PIECE = 2 ** 20;

/**
 * Writes a checkpoint of random weights in the released model's layout: two Engram layers in two
 * files, an index and a config. The same seed gives the same bytes. Streams, so that any size goes.
 */
export async function writeDemoCheckpoint(
  folder: string,
  layout: Layout,
  config: Readonly<Record<string, unknown>>,
  { headDim, hidden, copies }: DemoSizes,
  seed: number,
): Promise<void> {
  const weightMap: Record<string, string> = {};
  let totalSize = 0;
  for (const [i, { layerId, rows }] of layout.layers.entries()) {
    const random = mulberry32(seed * 1000 + layerId);
    const outFeatures = (copies + 1) * hidden;
    const inFeatures = layout.columns * headDim;
    const tensors = ([
      ["embed.weight", "F8_E4M3", [rows, headDim], code],
      ["embed.scale", "F8_E8M0", [rows, Math.ceil(headDim / 32)], scale],
      ["wkv.weight", "F8_E4M3", [outFeatures, inFeatures], code],
      ["wkv.scale", "F8_E8M0", [Math.ceil(outFeatures / 32), Math.ceil(inFeatures / 32)], scale],
      ["q_weight", "BF16", [copies, hidden], bf16],
      ["k_weight", "BF16", [copies, hidden], bf16],
    ] satisfies [string, Dtype, number[], Fill][]).map(([part, dtype, shape, fill]) => {
      const name = `layers.${layerId}.engram.${part}`;
      const bytes = shape.reduce((a, b) => a * b, dtype === "BF16" ? 2 : 1);
      return { name, dtype, shape, bytes, data: () => filled(bytes, fill, random) };
    });
    const file = fileName(i, layout.layers.length);
    await writeSafetensors(join(folder, file), tensors, { metadata: { format: "pt" } });
    for (const { name, bytes } of tensors) {
      weightMap[name] = file;
      totalSize += bytes;
    }
  }
  await writeJson(join(folder, "config.json"), config);
  await writeJson(join(folder, "model.safetensors.index.json"), {
    metadata: { total_size: totalSize },
    weight_map: weightMap,
  });
}

type Fill = (random: () => number) => number;

/** A finite fp8 e4m3fn code: 0x7f and 0xff are NaN. */
const code: Fill = (random) => Math.floor(random() * 127) + (random() < 0.5 ? 128 : 0);
/** A scale around 2^-9. */
const scale: Fill = (random) => 116 + Math.floor(random() * 5);
/** The two bytes of a bf16 between a half and two; called once a byte, low byte first. */
const bf16: Fill = (() => {
  let isHigh = true;
  return (random) => {
    isHigh = !isHigh;
    return isHigh ? 0x3f : Math.floor(random() * 256);
  };
})();

function* filled(length: number, fill: Fill, random: () => number): Generator<Uint8Array> {
  for (let left = length; left > 0; left -= PIECE) {
    yield Uint8Array.from({ length: Math.min(left, PIECE) }, () => fill(random));
  }
}

function fileName(index: number, files: number): string {
  const five = (n: number) => String(n).padStart(5, "0");
  return `model-${five(index + 1)}-of-${five(files)}.safetensors`;
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(value, null, 2) + "\n");
}
