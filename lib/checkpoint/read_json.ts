import { EngramError } from "../errors.ts";
import type { Folder } from "./folder.ts";

/**
 * A JSON file of `folder`, whole. `most` bounds its size in bytes, so that a wrong file named
 * like a config does not fill memory.
 */
export async function readJson(folder: Folder, name: string, most: number): Promise<unknown> {
  const where = folder.path(name);
  const source = await folder.open(name);
  try {
    if (source.size > most) {
      throw malformed(where, `found ${source.size} bytes, wanted at most ${most}`);
    }
    const bytes = new Uint8Array(source.size);
    await source.read(bytes, 0);
    return parse(bytes, where);
  } finally {
    source.close();
  }
}

function parse(bytes: Uint8Array, where: string): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw malformed(where, "found bytes that are not UTF-8, wanted JSON in UTF-8");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const start = text.trimStart().slice(0, 40);
    if (start.startsWith("<")) throw malformed(where, "found a web page, wanted JSON");
    if (start.startsWith("version https://git-lfs")) {
      throw malformed(where, "found a Git LFS pointer, wanted JSON");
    }
    throw malformed(where, `it is not JSON (${reason.split("\n", 1)[0].slice(0, 160)})`);
  }
}

function malformed(where: string, found: string): EngramError {
  return new EngramError("malformed", `Cannot read \`${where}\`: ${found}`, { where });
}
