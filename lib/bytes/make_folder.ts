import { mkdirSync } from "node:fs";
import { fileError } from "./file_error.ts";

/** Makes a folder and those it lies in, as far as they are not there. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw fileError("create", path, error);
  }
}
