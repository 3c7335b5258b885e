import { openLocation } from "../bytes/open_location.ts";
import { EngramError } from "../errors.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import type { HiddenSource } from "./hidden_source.ts";

/** What a {@linkcode openHiddenFile} has to hold. */
export interface HiddenSizes {
  /** Layers whose stream is wanted. */
  readonly layerIds: readonly number[];
  /** Copies of the stream. */
  readonly copies: number;
  /** Width of the stream. */
  readonly hidden: number;
}

/**
 * Opens a safetensors file or URL of residual streams: `layers.N.hidden` BF16 [T, copies, hidden] for each
 * layer, all of the same T. Only its header is read; values are read as they are asked for.
 *
 * @throws an {@linkcode EngramError} of kind `mismatch` that names a tensor of other sizes, and of
 * kind `malformed` where one is missing.
 */
export async function openHiddenFile(path: string, sizes: HiddenSizes): Promise<HiddenSource> {
  const file = await openSafetensors(await openLocation(path));
  try {
    const tensors = new Map(sizes.layerIds.map((id) => [id, checked(file, path, id, sizes)]));
    const counts = new Set([...tensors.values()].map((tensor) => tensor.shape[0]));
    if (counts.size > 1) {
      throw new EngramError(
        "mismatch",
        `Cannot use \`${path}\`: its layers have ${[...counts].join(" and ")} tokens, ` +
          "wanted the same for all",
        { where: path },
      );
    }
    return new HiddenFile(path, file, tensors, [...counts][0], sizes.copies * sizes.hidden);
  } catch (error) {
    file.close();
    throw error;
  }
}

function checked(
  file: SafetensorsFile,
  path: string,
  layerId: number,
  { copies, hidden }: HiddenSizes,
): Tensor {
  const name = `layers.${layerId}.hidden`;
  const tensor = file.tensors.get(name);
  if (!tensor) {
    throw new EngramError(
      "malformed",
      `Cannot use \`${path}\`: it has no tensor "${name}", wanted BF16 [T, ${copies}, ${hidden}]`,
      { where: path },
    );
  }
  const { dtype, shape } = tensor;
  if (
    dtype !== "BF16" || shape.length !== 3 || shape[1] !== copies || shape[2] !== hidden
  ) {
    throw new EngramError(
      "mismatch",
      `Cannot use \`${path}\`: tensor "${name}" is ${dtype} [${shape.join(", ")}], ` +
        `wanted BF16 [T, ${copies}, ${hidden}] (hc_mult, hidden_size)`,
      { where: path },
    );
  }
  return tensor;
}

class HiddenFile implements HiddenSource {
  readonly description: string;

  constructor(
    readonly path: string,
    readonly file: SafetensorsFile,
    readonly tensors: ReadonlyMap<number, Tensor>,
    readonly tokens: number,
    /** Values of a token. */
    readonly width: number,
  ) {
    this.description = `file ${path}`;
  }

  async read(layerId: number, first: number, tokens: number): Promise<Uint16Array> {
    const tensor = this.tensors.get(layerId);
    if (!tensor) {
      throw new EngramError("usage", `Cannot read hidden of layer ${layerId}: not asked for`);
    }
    if (first + tokens > this.tokens) {
      throw new EngramError(
        "mismatch",
        `Cannot use \`${this.path}\`: it has ${this.tokens} tokens, wanted ${
          first + tokens
        } or more`,
        { where: this.path },
      );
    }
    const values = new Uint16Array(tokens * this.width);
    await tensor.source.read(
      new Uint8Array(values.buffer),
      tensor.offset + first * this.width * values.BYTES_PER_ELEMENT,
    );
    return values;
  }

  close(): void {
    this.file.close();
  }
}
