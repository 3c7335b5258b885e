import { fileURLToPath } from "node:url";

/** Absolute path of a file of `tests/golden/data` (see the README there for where its values come from). */
export function goldenPath(name: string): string {
  return fileURLToPath(new URL(`data/${name}`, import.meta.url));
}

/** A JSON file of `tests/golden/data`. */
export function goldenJson<T>(name: string): T {
  return JSON.parse(Deno.readTextFileSync(goldenPath(name))) as T;
}
