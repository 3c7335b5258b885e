import { join } from "node:path";
import type { Checkpoint } from "../checkpoint/checkpoint.ts";
import type { RowLayout } from "../layout/layout.ts";
import { sourceIdentities } from "../shards/source_identity.ts";
import type { CompareOptions } from "../shards/open_compared.ts";
import { comparePacked } from "./compare_packed.ts";
import { MANIFEST_NAME } from "./offload_manifest.ts";
import { openOffload } from "./open_offload.ts";
import { planOffload } from "./plan_offload.ts";

/** What comparing packed rows with their checkpoint found. */
export interface OffloadReport {
  /** What was compared, in a sentence. */
  readonly detail: string;
  /** All that is wrong. */
  readonly faults: readonly {
    readonly tensor: null;
    readonly file: string;
    readonly message: string;
  }[];
}

/**
 * Compares packed rows with the checkpoint byte by byte.
 *
 * @throws an {@linkcode EngramError} where the folder holds no finished packed rows.
 */
export async function verifyOffload(
  checkpoint: Checkpoint,
  layout: RowLayout,
  folder: string,
  options: CompareOptions = {},
): Promise<OffloadReport> {
  const offload = await openOffload(folder);
  offload.close();
  const { rank } = offload.manifest;
  const plan = planOffload(checkpoint, layout, rank, await sourceIdentities(checkpoint));
  const faults: { tensor: null; file: string; message: string }[] = [];
  const fault = (name: string, message: string) => {
    faults.push({ tensor: null, file: join(folder, name), message: `\`${name}\`: ${message}` });
  };
  if (JSON.stringify(plan.manifest) !== JSON.stringify(offload.manifest)) {
    fault(MANIFEST_NAME, "its layers, ranges or source files are not the checkpoint's");
  }
  let bytes = 0;
  for (const layer of plan.layers) {
    if (!offload.manifest.layers.some(({ file }) => file === layer.name)) continue;
    const found = await comparePacked(join(folder, layer.name), layer, {
      ...options,
      onBytes: (count) => {
        bytes += count;
        options.onBytes?.(count);
      },
    });
    if (found) fault(layer.name, found);
  }
  const held = rank ? `rank ${rank.rank} of ${rank.tp * rank.dp} by ${rank.split}` : "whole tables";
  return {
    detail: `packed rows of ${held}, ${bytes} bytes compared with the checkpoint's`,
    faults,
  };
}
