import { openFile } from "../bytes/file_source.ts";
import { EngramError } from "../errors.ts";
import { readTensor } from "../safetensors/read_tensor.ts";
import { quote } from "../safetensors/quote.ts";
import { openSafetensors } from "../safetensors/safetensors_file.ts";
import { writeSafetensors } from "../safetensors/writer.ts";
import { mapDigest, type TokenMap } from "./token_map.ts";

/** How {@linkcode writeTokenMap} writes. */
export interface WriteTokenMapOptions {
  /** Where the map came from, kept in the file. */
  readonly source: string;
  /** Replace a file that exists. */
  readonly force?: boolean;
}

/** Saves a map as safetensors: `token_map` I32 [tokens], its digest and sizes as metadata. */
export async function writeTokenMap(
  path: string,
  map: TokenMap,
  { source, force = false }: WriteTokenMapOptions,
): Promise<void> {
  await writeSafetensors(
    path,
    [{ name: "token_map", dtype: "I32", shape: [map.map.length], data: map.map }],
    {
      force,
      metadata: {
        format: "engram token map",
        source,
        sha256: map.sha256,
        tokens: String(map.map.length),
        compressed_vocab_size: String(map.compressedVocabSize),
        ...(map.undecodable === null ? {} : { undecodable: String(map.undecodable) }),
      },
    },
  );
}

/**
 * Reads a saved map. What its metadata says is checked where it is there, and its ids always: they
 * are numbered in order of first sight. Throws an `EngramError` that says what does not hold.
 */
export async function readTokenMap(path: string): Promise<TokenMap> {
  const file = await openSafetensors(openFile(path));
  try {
    const tensor = file.tensor("token_map");
    if (tensor.dtype !== "I32" || tensor.shape.length !== 1) {
      throw fault(path, `token_map is ${tensor.dtype} [${tensor.shape}], wanted I32 [tokens]`);
    }
    const map = new Int32Array((await readTensor(tensor)).buffer);
    const compressedVocabSize = countIds(map, path);
    const sha256 = mapDigest(map);
    const found = { sha256, tokens: map.length, compressed_vocab_size: compressedVocabSize };
    checkMetadata(file.metadata, found, path);
    return { map, compressedVocabSize, undecodable: undecodable(file.metadata, path), sha256 };
  } finally {
    file.close();
  }
}

function checkMetadata(
  metadata: ReadonlyMap<string, string>,
  ids: Readonly<Record<string, string | number>>,
  path: string,
): void {
  for (const [key, found] of Object.entries(ids)) {
    const wanted = metadata.get(key);
    if (wanted === undefined || wanted === String(found)) continue;
    throw new EngramError(
      "mismatch",
      `Cannot use map \`${path}\`: its ids give ${key} ${found}, its metadata says ${
        quote(wanted)
      }`,
      { where: path, hint: "The file was damaged or edited. Make it again with `engram map`" },
    );
  }
}

/** Number of compressed ids; each new one is the next. */
function countIds(map: Int32Array, path: string): number {
  let count = 0;
  for (let id = 0; id < map.length; id++) {
    if (map[id] < 0 || map[id] > count) {
      throw fault(
        path,
        `token ${id} has the compressed id ${map[id]}, wanted from 0 to ${count}, ` +
          `the next new one`,
      );
    }
    if (map[id] === count) count++;
  }
  return count;
}

function undecodable(metadata: ReadonlyMap<string, string>, path: string): number | null {
  const text = metadata.get("undecodable");
  if (text === undefined) return null;
  if (!/^\d{1,10}$/.test(text)) throw fault(path, `its metadata says undecodable ${quote(text)}`);
  return Number(text);
}

function fault(path: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot use map \`${path}\`: ${found}`, {
    where: path,
    hint: "Make it with `engram map TOKENIZER --out FILE`",
  });
}
