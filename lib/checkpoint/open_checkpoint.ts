import type { Checkpoint } from "./checkpoint.ts";
import { locate } from "./locate.ts";
import { openPlace } from "./open_place.ts";

/**
 * Opens a checkpoint: a folder (with or without an index), one safetensors file with a
 * `config.json` beside it, or a `config.json` alone, which is enough for all that needs no tensors.
 * Only headers are read; names, dtypes and shapes are checked against the config.
 *
 * @throws an {@linkcode EngramError} that names the file or tensor at fault.
 *
 * @example
 * ```ts no-run
 * import { openCheckpoint } from "./open_checkpoint.ts";
 *
 * const checkpoint = await openCheckpoint("DeepSeek-V4.1-Flash");
 * console.log(checkpoint.layers.map(({ layerId, rows }) => [layerId, rows]));
 * checkpoint.close();
 * ```
 */
export async function openCheckpoint(location: string): Promise<Checkpoint> {
  return await openPlace(await locate(location));
}
