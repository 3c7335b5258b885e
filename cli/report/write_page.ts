import { OutputFile } from "../../lib/bytes/output_file.ts";

/** A page's file, begun before the work so that one that cannot be written is found at once. */
export function openPage(path: string, force: boolean): OutputFile {
  return OutputFile.create(path, { force });
}

/** Writes the whole page. */
export function writePage(file: OutputFile, text: string): void {
  file.write(new TextEncoder().encode(text));
  file.commit();
}
