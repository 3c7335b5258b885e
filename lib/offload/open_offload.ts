import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { openFile } from "../bytes/file_source.ts";
import { EngramError } from "../errors.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { rowEncoding } from "../table/row_encoding.ts";
import type { StoredLayer } from "../table/table_parts.ts";
import {
  FINISHED_NAME,
  MANIFEST,
  MANIFEST_NAME,
  type OffloadLayer,
  type OffloadManifest,
} from "./offload_manifest.ts";

/** An open folder of packed rows. */
export interface Offload {
  /** The folder. */
  readonly folder: string;
  /** What it holds. */
  readonly manifest: OffloadManifest;
  /** A layer's records [rows, recordBytes], for reading them in other ways. */
  tensor(layerId: number): Tensor;
  /** A layer's packed table: one read a row. Numbered from 0 in the manifest's order of ranges. */
  layer(layerId: number): StoredLayer;
  /** Closes all files. */
  close(): void;
}

/**
 * Opens packed rows that `engram offload` wrote. A folder that was not finished, whose manifest was
 * changed, or a file of it that is not of the size it was written with is refused.
 */
export async function openOffload(folder: string): Promise<Offload> {
  const manifest = readManifest(folder);
  const files = new Map<number, SafetensorsFile>();
  const close = () => files.forEach((file) => file.close());
  try {
    for (const layer of manifest.layers) {
      const source = openFile(join(folder, layer.file));
      if (source.size !== layer.size) {
        source.close();
        throw refused(
          join(folder, layer.file),
          `it has ${source.size} bytes, wanted ${layer.size}`,
        );
      }
      files.set(layer.layer_id, await openSafetensors(source));
    }
    const of = (layerId: number): { layer: OffloadLayer; tensor: Tensor } => {
      const layer = manifest.layers.find(({ layer_id }) => layer_id === layerId);
      const [tensor, ...more] = files.get(layerId)?.tensors.values() ?? [];
      if (!layer) throw refused(folder, `layer ${layerId} is not in it`);
      const shape = tensor?.shape.join(", ");
      if (more.length === 0 && shape === `${layer.rows}, ${layer.record_bytes}`) {
        return { layer, tensor };
      }
      throw refused(join(folder, layer.file), "its tensor is not the one its manifest names");
    };
    return {
      folder,
      manifest,
      tensor: (layerId) => of(layerId).tensor,
      layer(layerId) {
        const { layer: { rows, ...layer }, tensor } = of(layerId);
        const encoding = rowEncoding(layer.encoding, layer.head_dim);
        return { layerId, encoding, rows, packed: true, embed: { weight: tensor, scale: null } };
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function readManifest(folder: string): OffloadManifest {
  const path = join(folder, MANIFEST_NAME);
  const text = read(path);
  const marker = read(join(folder, FINISHED_NAME));
  if (text === null && marker === null) {
    throw new EngramError(
      "unavailable",
      `Cannot open packed rows in \`${folder}\`: found no ${MANIFEST_NAME}`,
      { where: folder, hint: "Make them with `engram offload CHECKPOINT --out DIR`" },
    );
  }
  if (text === null || marker === null) throw refused(folder, "writing it was not finished");
  if (createHash("sha256").update(text).digest("hex") !== marker.trim()) {
    throw refused(path, "it is not the one the folder was finished with");
  }
  try {
    return MANIFEST.parse(JSON.parse(text));
  } catch (cause) {
    throw refused(path, "it is no manifest of this version", cause);
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw fileError("open", path, error);
  }
}

function refused(where: string, found: string, cause?: unknown): EngramError {
  return new EngramError("malformed", `Cannot open packed rows in \`${where}\`: ${found}`, {
    where,
    cause,
    hint: "Run the same `engram offload` again: it keeps what is right and writes the rest",
  });
}
