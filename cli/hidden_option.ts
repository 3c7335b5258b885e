import type { HiddenSizes } from "../lib/engram/hidden_file.ts";
import type { HiddenSource } from "../lib/engram/hidden_source.ts";
import { EngramError } from "../lib/errors.ts";

/** The stream that --hidden or --seed names; exactly one of them has to. */
export async function openHidden(
  { hidden, seed }: { readonly hidden?: string; readonly seed?: number },
  sizes: HiddenSizes,
): Promise<HiddenSource> {
  if ((hidden === undefined) === (seed === undefined)) {
    const found = hidden === undefined ? "neither --hidden nor --seed" : "both --hidden and --seed";
    throw new EngramError(
      "usage",
      `Cannot tell what enters the layers: found ${found}, wanted one`,
      {
        hint: "Give --hidden FILE with layers.N.hidden, or --seed 1 for a made-up stream",
      },
    );
  }
  if (hidden !== undefined) {
    const { openHiddenFile } = await import("../lib/engram/hidden_file.ts");
    return await openHiddenFile(hidden, sizes);
  }
  const { SeededHidden } = await import("../lib/engram/seeded_hidden.ts");
  return new SeededHidden(seed!, sizes.copies, sizes.hidden);
}
