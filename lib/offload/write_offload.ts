import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { fileError } from "../bytes/file_error.ts";
import { checkFreeSpace } from "../bytes/free_space.ts";
import { makeFolder } from "../bytes/make_folder.ts";
import { OutputFile } from "../bytes/output_file.ts";
import { EngramError } from "../errors.ts";
import { SafetensorsWriter } from "../safetensors/safetensors_writer.ts";
import type { CompareOptions } from "../shards/open_compared.ts";
import { comparePacked } from "./compare_packed.ts";
import { FINISHED_NAME, MANIFEST_NAME } from "./offload_manifest.ts";
import { packedRows } from "./packed_rows.ts";
import type { OffloadPlan, OffloadPlanLayer } from "./plan_offload.ts";

/** How {@linkcode writeOffload} writes. */
export interface WriteOffloadOptions extends CompareOptions {
  /** Replace files that differ. */
  force?: boolean;
}

/** What became of one layer's file. */
export interface WrittenLayer {
  /** The layer. */
  readonly layerId: number;
  /** Its path. */
  readonly path: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** `verified`: it was there already, and every byte of it is right. */
  readonly state: "written" | "verified";
}

/**
 * Writes packed rows into `folder`: a file a layer, the manifest, and last of all the finished
 * marker. A run that was cut short is finished by the same run again.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where a file is there that differs,
 * without `force`; where there is too little space.
 */
export async function writeOffload(
  { layers, manifest }: OffloadPlan,
  folder: string,
  options: WriteOffloadOptions = {},
): Promise<WrittenLayer[]> {
  makeFolder(folder);
  const text = JSON.stringify(manifest, null, 2) + "\n";
  const marker = createHash("sha256").update(text).digest("hex") + "\n";
  const before = readText(join(folder, MANIFEST_NAME));
  if (before !== null && before !== text && !options.force) differs(join(folder, MANIFEST_NAME));
  const missing = layers.filter(({ name }) => !fs.existsSync(join(folder, name)));
  checkFreeSpace(folder, missing.reduce((sum, { file }) => sum + file.size, 0));
  const finished = join(folder, FINISHED_NAME);
  // While files change, the folder must not look finished.
  if (missing.length > 0 || before !== text) fs.rmSync(finished, { force: true });
  const written: WrittenLayer[] = [];
  for (const plan of layers) {
    const path = join(folder, plan.name);
    const right = !missing.includes(plan) && await isRight(path, plan, options);
    if (!right) {
      fs.rmSync(finished, { force: true });
      await write(path, plan, options);
    }
    const state = right ? "verified" : "written";
    written.push({ layerId: plan.layer.layerId, path, bytes: plan.file.size, state });
  }
  if (before !== text) writeText(join(folder, MANIFEST_NAME), text);
  if (readText(finished) !== marker) writeText(finished, marker);
  return written;
}

async function isRight(
  path: string,
  plan: OffloadPlanLayer,
  { force, ...options }: WriteOffloadOptions,
): Promise<boolean> {
  const fault = await comparePacked(path, plan, options);
  if (!fault || force) return !fault;
  return differs(path, fault);
}

function differs(path: string, fault = "it is of another checkpoint or split"): never {
  throw new EngramError("unavailable", `Cannot write \`${path}\`: another is there: ${fault}`, {
    where: path,
    hint: "Add `--force` to replace it, or choose another folder",
  });
}

async function write(
  path: string,
  { layer, ranges, tensor }: OffloadPlanLayer,
  { force, signal, onBytes }: WriteOffloadOptions,
): Promise<void> {
  using writer = SafetensorsWriter.create(path, [tensor], { force: force ?? false });
  for await (const piece of packedRows(layer, ranges, signal)) {
    writer.append(tensor.name, piece);
    onBytes?.(piece.length);
  }
  writer.commit();
}

function readText(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw fileError("read", path, error);
  }
}

function writeText(path: string, text: string): void {
  using file = OutputFile.create(path, { force: true });
  file.write(new TextEncoder().encode(text));
  file.commit();
}
